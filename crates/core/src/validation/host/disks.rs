//! `has-min-valid-disks`: a disk that can be installed on.

use super::View;
use crate::catalogue::hardware::bytes;
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(inventory) = view.inventory else {
        let broken = !view.host.report(ReportKind::Inventory).is_empty();
        return if broken {
            Outcome::error("Failed to load inventory")
        } else {
            Outcome::awaits_inventory("Missing inventory")
        };
    };
    let disks = inventory.disks.as_deref().unwrap_or_default();
    if disks.is_empty() {
        return Outcome::error("Failed to detected disks")
            .measured("no disk")
            .required("one disk")
            .remedy("Attach a disk to the machine.");
    }
    let eligible = disks.iter().filter(|disk| disk.installation_eligibility.eligible).count();
    let outcome = if eligible > 0 {
        Outcome::success("Sufficient disk capacity")
    } else {
        Outcome::failure(
            "No eligible disks were found, please check specific disks to see why they are not eligible",
        )
        .remedy("Attach a disk that is large enough and of an allowed type, or free one that is in use.")
    };
    let required = bytes::decimal(view.total.disk_size_gb.saturating_mul(1_000_000_000));
    outcome
        .measured(format!("{eligible} of {} disks eligible", disks.len()))
        .required(format!("one disk of {required}"))
}
