//! The disks of a host that are wiped when its installation begins.

use super::rule_context::keeps_partitions;
use crate::model::disk;
use crate::model::embedded;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::policy::Policy;

/// Notes which installer is used, and emits an event for what becomes of the disks that the machine might boot from instead.
pub(crate) fn begin(host: &mut HostFacts, policy: &Policy, events: &mut Vec<NewEvent>) {
    policy.images.installer.clone_into(&mut host.record.host.installer_version);
    let skipped = disks_left(host);
    for id in ids(&host.record.host.disks_to_be_formatted) {
        let name = host.inventory.as_deref().and_then(|inventory| disk::find(inventory, id));
        let name = name.map_or("", |disk| disk.name.as_str());
        let spec = if skipped.contains(&id) {
            catalogue::QUICK_DISK_FORMAT_SKIPPED
        } else {
            catalogue::QUICK_DISK_FORMAT_PERFORMED
        };
        events.push(spec.of_host(host, &[("disk_name", &name), ("disk_id", &id)]));
    }
}

/// Ids of the disks that are wiped before the installation.
pub(crate) fn disks_to_format(host: &HostFacts) -> Vec<String> {
    let left = disks_left(host);
    let disks = ids(&host.record.host.disks_to_be_formatted).filter(|id| !left.contains(id));
    disks.map(str::to_owned).collect()
}

/// Ids of the disks that stay as they are: at the user's wish, or because partitions on them are kept.
fn disks_left(host: &HostFacts) -> Vec<&str> {
    let fields = &host.record.host;
    let keeps = keeps_partitions(&embedded::installer_args(fields));
    ids(&fields.skip_formatting_disks).chain(keeps.then(|| disk::chosen(fields))).collect()
}

fn ids(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(|id| !id.is_empty())
}
