//! `no-skip-installation-disk`, `no-skip-missing-disk`: disks that are not to be wiped are there, and not installed on.

use super::View;
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;

pub(super) fn check_installation_disk(view: &View<'_>) -> Outcome {
    let id = &view.record().installation_disk_id;
    if !id.is_empty() && skipped(view).any(|skipped| skipped == id) {
        return Outcome::failure(
            "Requesting to skip the formatting of the installation disk is not allowed. The installation disk must be \
             formatted. Please either change this host's installation disk or do not skip the formatting of the \
             installation disk",
        )
        .measured(format!("{id} is skipped"))
        .required("an installation disk that is formatted")
        .remedy("Choose another installation disk, or let this one be formatted.");
    }
    Outcome::success("No request to skip formatting of the installation disk")
}

pub(super) fn check_missing(view: &View<'_>) -> Outcome {
    let disks = match view.inventory {
        Some(inventory) => inventory.disks.as_deref().unwrap_or_default(),
        None if view.host.report(ReportKind::Inventory).is_empty() => {
            return Outcome::awaits_inventory("Host inventory not available yet");
        }
        None if skipped(view).next().is_some() => {
            return Outcome::error("Failed to unmarshal this host's inventory");
        }
        None => &[],
    };
    let missing = skipped(view).find(|skipped| !disks.iter().any(|disk| disk.id == *skipped));
    if let Some(missing) = missing {
        return Outcome::failure(
            "One or more of the disks that you have requested to skip the formatting of are no longer present on this \
             host. To ensure they haven't just changed their identity, please remove your request to skip their \
             formatting and then if needed add them back using the new ID",
        )
        .measured(format!("{missing} is gone"))
        .required("every skipped disk present")
        .remedy("Remove the disk from those whose formatting is skipped.");
    }
    Outcome::success("All disks that have skipped formatting are present in the host inventory")
}

fn skipped<'a>(view: &View<'a>) -> impl Iterator<Item = &'a str> {
    view.record().skip_formatting_disks.split(',').filter(|id| !id.is_empty())
}
