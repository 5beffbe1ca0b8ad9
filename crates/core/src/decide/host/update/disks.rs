//! Which disk the system goes onto, and which are left as they are.

use assisted_wire::host_params::{DiskConfigParams, DiskRole, DiskSkipFormattingParams};

use crate::model::disk;
use crate::model::facts::HostFacts;
use crate::model::refusal::Refusal;

/// Notes the disk that the user chose; none: the service chooses.
pub(super) fn select(host: &mut HostFacts, selected: &[DiskConfigParams]) -> Result<(), Refusal> {
    let mut chosen = selected.iter().filter(|disk| disk.role == Some(DiskRole::Install));
    let (first, second) = (chosen.next(), chosen.next());
    if second.is_some() {
        return Err(Refusal::conflict("duplicate setting of installation path by the user"));
    }
    let (path, id) = match first {
        None => Default::default(),
        Some(wanted) => {
            let found = host.inventory.as_ref().and_then(|inventory| disk::find(inventory, &wanted.id));
            let found = found.filter(|disk| disk.installation_eligibility.eligible).ok_or_else(|| {
                Refusal::conflict("Requested installation disk is not part of the host's valid disks")
            })?;
            (format!("/dev/{}", found.name), found.id.clone())
        }
    };
    let fields = &mut host.record.host;
    (fields.installation_disk_path, fields.installation_disk_id) = (path, id);
    Ok(())
}

/// Notes the disks that are not to be wiped.
pub(super) fn skip_formatting(
    host: &mut HostFacts,
    params: &[DiskSkipFormattingParams],
) -> Result<(), Refusal> {
    let Some(inventory) = host.inventory.clone() else {
        return Err(Refusal::internal(format!("Host {} has no inventory", host.record.host.id)));
    };
    let listed = &host.record.host.skip_formatting_disks;
    let mut skipped: Vec<String> = listed.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect();
    for disk in params {
        if disk.disk_id.is_empty() {
            return Err(Refusal::invalid("Missing required disk formatting param fields"));
        }
        if !disk.skip_formatting {
            skipped.retain(|id| *id != disk.disk_id);
            continue;
        }
        let mut ids = inventory.disks.iter().flatten().map(|disk| disk.id.as_str());
        if !ids.any(|id| id == disk.disk_id) {
            let ids: Vec<_> = inventory.disks.iter().flatten().map(|disk| disk.id.as_str()).collect();
            return Err(Refusal::invalid(format!(
                "Disk identifier {} doesn't match any disk in the inventory, it cannot be skipped. Inventory disk identifiers are: {}",
                disk.disk_id,
                ids.join(", ")
            )));
        }
        if !skipped.contains(&disk.disk_id) {
            skipped.push(disk.disk_id.clone());
        }
    }
    host.record.host.skip_formatting_disks = skipped.join(",");
    Ok(())
}
