//! `sufficient-installation-disk-speed`: the installation disk is fast enough for etcd, as far as it was measured.

use super::View;
use crate::model::disk;
use crate::model::outcome::Outcome;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let chosen = disk::chosen(view.record());
    if chosen.is_empty() {
        return Outcome::error("Validation error");
    }
    let speed = disk::speed_of(view.host.report(crate::model::report::ReportKind::DisksInfo), chosen);
    match speed.filter(|speed| speed.tested) {
        None => Outcome::success("Speed of installation disk has not yet been measured"),
        Some(speed) if speed.exit_code == 0 => Outcome::success("Speed of installation disk is sufficient"),
        Some(speed) => Outcome::failure(
            "While preparing the previous installation the installation disk speed measurement failed or was found \
             to be insufficient",
        )
        .measured(format!("{} ms per synchronous write", speed.speed_ms))
        .required(format!("{} ms", view.total.installation_disk_speed_threshold_ms))
        .remedy("Choose a faster installation disk, then reset this validation."),
    }
}
