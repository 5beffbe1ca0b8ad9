//! Logs of a host whose installation failed (agent-protocol §2.4.15).

use std::net::IpAddr;

use assisted_wire::host::HostRole;
use assisted_wire::probe_requests::LogsGatherCmdRequest;

use crate::model::cluster::ClusterRecord;
use crate::model::facts::{Facts, HostFacts};
use crate::model::topology;
use crate::network::{address, family};

/// What to collect; `None` when some came already.
pub(super) fn request(
    facts: &Facts,
    record: &ClusterRecord,
    host: &HostFacts,
) -> Option<LogsGatherCmdRequest> {
    let fields = &host.record.host;
    if !fields.logs_collected_at.is_zero() {
        return None;
    }
    Some(LogsGatherCmdRequest {
        cluster_id: record.cluster.id,
        infra_env_id: host.key().infra_env_id,
        host_id: fields.id,
        bootstrap: fields.bootstrap,
        installer_gather: true,
        master_ips: fields.bootstrap.then(|| masters(facts, record, host)),
    })
}

/// Addresses under which the bootstrap host reaches the others of the control plane.
fn masters(facts: &Facts, record: &ClusterRecord, own: &HostFacts) -> Vec<String> {
    let networks: Vec<_> =
        family::machine_networks(&record.cluster).filter_map(address::parse_network).collect();
    let by_user = topology::is_user_managed_networking(&record.cluster);
    let others = facts
        .hosts
        .iter()
        .filter(|host| host.key() != own.key() && host.effective_role() != HostRole::Worker);
    others
        .filter_map(|host| host.inventory.as_deref())
        .flat_map(|inventory| {
            let addresses = address::of_inventory(inventory).map(|address| address.net.addr());
            let reached = addresses.filter(|address: &IpAddr| {
                by_user || networks.iter().any(|network| network.contains(address))
            });
            // Within the machine networks one address of each host is enough.
            reached.take(if by_user { usize::MAX } else { 1 }).map(|address| address.to_string())
        })
        .collect()
}
