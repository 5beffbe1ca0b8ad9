//! The DNS records of a cluster whose domain the service manages: which they are, when they are asked for, and what comes of it
//! (running §6).

use std::net::IpAddr;

use assisted_wire::cluster::{ClusterStatus, InstallationPreparationStatus as Status};
use assisted_wire::network::DnsRecord;

use crate::decide::refresh::WorkingCopy;
use crate::model::action::{Action, Attempt};
use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::{Facts, HostFacts};
use crate::model::topology;
use crate::state::cluster::{preparation, single_node};

/// The records that a cluster needs. Where it has no VIPs, because its users balance the load themselves, there are none to make.
pub fn wanted(record: &ClusterRecord, hosts: &[HostFacts]) -> Vec<DnsRecord> {
    let cluster = &record.cluster;
    let first = |text: Option<&str>| text.and_then(|text| text.parse::<IpAddr>().ok());
    let (internal, api, apps) = if topology::is_single_node(cluster) {
        let node = single_node::address(record, hosts);
        (node, node, node)
    } else {
        let api = cluster.api_vips.iter().flatten().next().map(|vip| vip.ip.0.as_str());
        let ingress = cluster.ingress_vips.iter().flatten().next().map(|vip| vip.ip.0.as_str());
        (None, first(api), first(ingress))
    };
    let domain = format!("{}.{}", cluster.name, cluster.base_dns_domain);
    [("api-int", internal), ("api", api), ("*.apps", apps)]
        .into_iter()
        .filter_map(|(label, address)| Some(of(format!("{label}.{domain}"), address?)))
        .collect()
}

/// The names that must be free before a cluster is installed.
pub fn names(record: &ClusterRecord) -> Vec<String> {
    let cluster = &record.cluster;
    let labels: &[_] =
        if topology::is_single_node(cluster) { &["api-int", "api", "*.apps"] } else { &["api", "*.apps"] };
    labels.iter().map(|label| format!("{label}.{}.{}", cluster.name, cluster.base_dns_domain)).collect()
}

fn of(name: String, address: IpAddr) -> DnsRecord {
    let kind = if address.is_ipv4() { "A" } else { "AAAA" };
    DnsRecord { name, r#type: kind.to_owned(), address: address.to_string() }
}

/// The action by which the records of a cluster are deleted; none where there are none.
pub fn delete(record: &ClusterRecord) -> Option<Action> {
    let cluster = &record.cluster;
    (!cluster.dns_records.is_empty()).then_some(Action::DeleteDnsRecords { cluster_id: cluster.id })
}

/// Whether a cluster still waits for the records of an attempt.
pub fn awaits(record: &ClusterRecord, attempt: Attempt) -> bool {
    let cluster = &record.cluster;
    let last = cluster.last_installation_preparation.as_ref().and_then(|last| last.status);
    cluster.status == ClusterStatus::PreparingForInstallation
        && attempt == cluster.install_started_at.0.into()
        && record.dns_asked_for == Some(attempt)
        && record.dns_made_for != Some(attempt)
        && last != Some(Status::Failed)
}

/// Notes which records the cluster has, or is about to have: before they are made, so that they are known whatever happens then.
pub fn noted(facts: &Facts, records: Vec<DnsRecord>) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        record.cluster.dns_records = records;
    }
    draft.reconciled()
}

/// The records of an attempt were made, which they are, or could not be: `outcome` says why.
///
/// Harmless when it is reported twice, when the user has given the attempt up meanwhile, or begun another.
pub fn made(facts: &Facts, attempt: Attempt, outcome: Result<Vec<DnsRecord>, String>) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = draft.facts.cluster.as_mut().filter(|record| awaits(record, attempt)) {
        let cluster = &mut record.cluster;
        match outcome {
            Ok(records) => {
                if !records.is_empty() {
                    let values: &[(&str, &dyn std::fmt::Display)] = &[("records", &listed(&records))];
                    draft.events.push(catalogue::DNS_RECORDS_CREATED.of_cluster(cluster.id, values));
                }
                cluster.dns_records = records;
                record.dns_made_for = Some(attempt);
            }
            Err(error) => {
                preparation::set(cluster, Status::Failed, &error);
                let spec = catalogue::PREPARE_INSTALLATION_FAILED;
                draft.events.push(spec.of_cluster(cluster.id, &[("error", &error)]));
            }
        }
    }
    draft.reconciled()
}

/// Records of a cluster were deleted, or are left: `outcome` says why.
pub fn deleted(facts: &Facts, records: &[DnsRecord], outcome: Result<(), String>) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        let (cluster, list) = (&mut record.cluster, listed(records));
        match outcome {
            Ok(()) => {
                cluster.dns_records.retain(|record| !records.contains(record));
                let values: &[(&str, &dyn std::fmt::Display)] = &[("records", &list)];
                draft.events.push(catalogue::DNS_RECORDS_DELETED.of_cluster(cluster.id, values));
            }
            Err(error) => {
                let values: &[(&str, &dyn std::fmt::Display)] = &[("records", &list), ("error", &error)];
                draft.events.push(catalogue::DNS_RECORDS_LEFT.of_cluster(cluster.id, values));
            }
        }
    }
    draft.unreconciled()
}

fn listed(records: &[DnsRecord]) -> String {
    let each = records.iter().map(|record| format!("{} {} {}", record.name, record.r#type, record.address));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster_params::HighAvailabilityMode;
    use assisted_wire::network::{ApiVip, IngressVip, Ip};

    use super::*;
    use crate::validation::testing::{facts, inventory};

    fn list(facts: &Facts) -> Vec<String> {
        let record = facts.cluster.as_ref().unwrap();
        wanted(record, &facts.hosts)
            .iter()
            .map(|record| format!("{} {} {}", record.name, record.r#type, record.address))
            .collect()
    }

    #[test]
    fn the_vips_of_several_nodes() {
        let facts = facts(3).with_cluster(|cluster| {
            let ip = |text: &str| Ip(text.to_owned());
            cluster.name = "c".to_owned();
            cluster.api_vips =
                Some(vec![ApiVip { cluster_id: None, ip: ip("10.0.0.1"), verification: None }]);
            cluster.ingress_vips =
                Some(vec![IngressVip { cluster_id: None, ip: ip("fd00::1"), verification: None }]);
        });
        assert_eq!(list(&facts), ["api.c.example.com A 10.0.0.1", "*.apps.c.example.com AAAA fd00::1"]);
        assert_eq!(names(facts.cluster.as_ref().unwrap()), ["api.c.example.com", "*.apps.c.example.com"]);
        let balanced = facts.with_cluster(|cluster| {
            cluster.api_vips = Some(Vec::new());
            cluster.ingress_vips = None;
        });
        assert!(list(&balanced).is_empty());
    }

    #[test]
    fn a_single_node_has_one_address() {
        let mut facts =
            facts(1).with_inventory(&inventory().address("10.1.0.5/24")).with_cluster(|cluster| {
                cluster.name = "c".to_owned();
                cluster.control_plane_count = 1;
                cluster.high_availability_mode = Some(HighAvailabilityMode::None);
            });
        facts.hosts[0].record.host.bootstrap = true;
        let all = ["api-int", "api", "*.apps"].map(|label| format!("{label}.c.example.com A 10.1.0.5"));
        assert_eq!(list(&facts), all);
        assert_eq!(names(facts.cluster.as_ref().unwrap()).len(), 3);
    }

    /// What could not be deleted stays noted, so that it is asked for again; what is deleted is noted no more.
    #[test]
    fn what_can_not_be_deleted_stays_noted() {
        let all = ["api.c.example.com", "*.apps.c.example.com"]
            .map(|name| of(name.to_owned(), IpAddr::from([10, 0, 0, 1])));
        let noted = facts(3).with_cluster(|cluster| cluster.dns_records = all.to_vec());
        let asked = delete(noted.cluster.as_ref().unwrap());
        assert!(matches!(asked, Some(Action::DeleteDnsRecords { .. })), "{asked:?}");
        let told = |decision: &Decision| {
            decision.events.iter().map(|event| (event.name, event.message.clone())).collect::<Vec<_>>()
        };
        let list = "api.c.example.com A 10.0.0.1, *.apps.c.example.com A 10.0.0.1";

        let left = deleted(&noted, &all, Err("ns can't be reached".to_owned()));
        assert_eq!(left.cluster, None);
        let text = format!("DNS records can't be deleted, and are left: {list}. Error: ns can't be reached");
        assert_eq!(told(&left), [("dns_records_left", text)]);

        let gone = deleted(&noted, &all[..1], Ok(())).cluster.unwrap();
        assert_eq!(gone.cluster.dns_records, all[1..]);
        let none = deleted(&noted, &all, Ok(())).cluster.unwrap();
        assert_eq!(delete(&none), None);
    }
}
