//! The installation of a host begins.

use assisted_wire::host::HostStatus;
use jiff::Timestamp;

use super::situation::Situation;
use super::transition::{INSTALL, follow};
use crate::disk;
use crate::event::{NewEvent, catalogue};
use crate::facts::HostFacts;
use crate::machine::choose;
use crate::refusal::Refusal;
use crate::settings::Settings;

/// Whether a host that joins an installed cluster can be installed (state-machines §8.3).
///
/// # Errors
///
/// 404 when it is not bound, 409 when it is no such host or not ready.
pub fn may_install(host: &HostFacts) -> Result<(), Refusal> {
    let fields = &host.record.host;
    if fields.cluster_id.is_none() {
        return Err(Refusal::not_found(format!("Host {} is not bound to any cluster", fields.id)));
    }
    if !host.is_day2() {
        return Err(Refusal::conflict("method only allowed when adding hosts to an existing cluster"));
    }
    if fields.status != HostStatus::Known {
        return Err(Refusal::conflict(format!("cannot install host in state {}", fields.status)));
    }
    Ok(())
}

/// Installs a host that joins an installed cluster: its Ignition config must be there already.
///
/// # Errors
///
/// 409 when it is no such host, or not ready any more.
pub fn install_day2(
    host: &mut HostFacts,
    settings: &Settings,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Refusal> {
    let status = host.record.host.status;
    let situation = Situation::alone(host);
    let Some(rule) = choose(INSTALL, &status, &|condition| condition.holds(&situation)) else {
        return Err(Refusal::conflict(format!("cannot install host in state {status} after refresh")));
    };
    follow(rule, host, now, events);
    begin(host, settings, events);
    events.push(catalogue::HOST_INSTALLATION_STARTED.of_host(host, &[]));
    Ok(())
}

/// Notes which installer is used, and tells what becomes of the disks that the machine might boot from instead.
pub(super) fn begin(host: &mut HostFacts, settings: &Settings, events: &mut Vec<NewEvent>) {
    settings.images.installer.clone_into(&mut host.record.host.installer_version);
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
pub(super) fn disks_to_format(host: &HostFacts) -> Vec<String> {
    let left = disks_left(host);
    let disks = ids(&host.record.host.disks_to_be_formatted).filter(|id| !left.contains(id));
    disks.map(str::to_owned).collect()
}

/// Ids of the disks that stay as they are: at the user's wish, or because partitions on them are kept.
fn disks_left(host: &HostFacts) -> Vec<&str> {
    let fields = &host.record.host;
    let keeps = super::situation::keeps_partitions(&fields.installer_args);
    ids(&fields.skip_formatting_disks).chain(keeps.then(|| disk::chosen(fields))).collect()
}

fn ids(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(|id| !id.is_empty())
}
