//! The time that DHCP servers may take to lease the VIPs (state-machines §3.12).

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster::ClusterStatus::{Cancelled, Error, Installed};
use jiff::Timestamp;

use crate::model::cluster::ClusterRecord;
use crate::model::event::{NewEvent, catalogue};
use crate::model::{deadline, topology};
use crate::network::family;
use crate::validation::cluster::vips;

/// The last moment at which the leases are in time; `None`: none are awaited, or an event said that they did not come.
pub(crate) fn deadline(record: &ClusterRecord) -> Option<Timestamp> {
    let cluster = &record.cluster;
    let since = record.machine_network_cidr_updated_at?;
    let awaited = topology::is_vip_dhcp(cluster)
        && !matches!(cluster.status, Installed | Error | Cancelled)
        && family::machine_networks(cluster).any(|network| !network.is_empty())
        && is_vip_missing(cluster)
        && record.lease_timeout_told_for != Some(since);
    awaited.then(|| deadline::after(since, vips::LEASES))
}

/// Tells, once per change of the networks, that leases did not come in time.
pub(crate) fn emit_timeout(record: &mut ClusterRecord, now: Timestamp, events: &mut Vec<NewEvent>) {
    if deadline(record).is_some_and(|deadline| now > deadline) {
        record.lease_timeout_told_for = record.machine_network_cidr_updated_at;
        events.push(catalogue::API_INGRESS_VIP_TIMED_OUT.of_cluster(record.cluster.id, &[]));
    }
}

fn is_vip_missing(cluster: &Cluster) -> bool {
    let api = cluster.api_vips.iter().flatten().any(|vip| !vip.ip.0.is_empty());
    let ingress = cluster.ingress_vips.iter().flatten().any(|vip| !vip.ip.0.is_empty());
    !(api && ingress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing::facts;

    #[test]
    fn told_once_per_change() {
        let mut facts = facts(0)
            .with_machine_networks(&["10.0.0.0/24"])
            .with_cluster(|cluster| cluster.vip_dhcp_allocation = Some(true));
        let record = facts.cluster.as_mut().unwrap();
        assert_eq!(deadline(record), None);
        let changed: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        record.machine_network_cidr_updated_at = Some(changed);
        let end: Timestamp = "2026-01-01T00:02:00Z".parse().unwrap();
        assert_eq!(deadline(record), Some(end));
        let mut events = Vec::new();
        emit_timeout(record, end, &mut events);
        assert!(events.is_empty());
        let late = end + jiff::SignedDuration::from_millis(1);
        for _ in 0..2 {
            emit_timeout(record, late, &mut events);
        }
        assert_eq!(events.iter().map(|event| event.name).collect::<Vec<_>>(), ["api_ingress_vip_timed_out"]);
        record.machine_network_cidr_updated_at = Some(late);
        assert!(deadline(record).is_some(), "other networks, another chance");
        let mut facts = facts.with_vips(&["10.0.0.8"], &["10.0.0.9"]);
        assert_eq!(deadline(facts.cluster.as_ref().unwrap()), None);
        facts.cluster.as_mut().unwrap().cluster.ingress_vips = None;
        assert!(deadline(facts.cluster.as_ref().unwrap()).is_some());
        let facts = facts.with_cluster(|cluster| cluster.status = Cancelled);
        assert_eq!(deadline(facts.cluster.as_ref().unwrap()), None);
    }
}
