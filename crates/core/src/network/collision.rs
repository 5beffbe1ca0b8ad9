//! Addresses that two machines answer for (validations §5.4).

use std::collections::{BTreeMap, HashMap};

use assisted_wire::probe_responses::ConnectivityReport;

use crate::facts::Facts;
use crate::host::report::ReportKind;

/// Collisions that the hosts saw, as the text of `ip_collisions`: from address to the two MACs, sorted.
///
/// Only those that the last host (by id) with a report saw, as clients know it (state-machines §11).
pub fn ip_collisions(facts: &Facts) -> String {
    let reports = facts.hosts.iter().filter_map(|host| {
        let text = host.report(ReportKind::Connectivity);
        (!text.is_empty()).then_some((host.record.host.id, text))
    });
    let last = reports.max_by_key(|(id, _)| *id).map_or("", |(_, text)| text);
    let report = serde_json::from_str(last).unwrap_or_default();
    // Maps of texts always serialise.
    serde_json::to_string(&collisions(&report)).unwrap_or_default()
}

fn collisions(report: &ConnectivityReport) -> BTreeMap<&str, Vec<&str>> {
    let mut seen: HashMap<(&str, &str), &str> = HashMap::new();
    let mut collisions = BTreeMap::new();
    let remotes = report.remote_hosts.iter().flatten();
    for entry in remotes.flat_map(|remote| remote.l2_connectivity.iter().flatten()) {
        let (ip, mac) = (entry.remote_ip_address.as_str(), entry.remote_mac.as_str());
        if mac.is_empty() {
            continue;
        }
        let earlier = *seen.entry((&entry.outgoing_nic, ip)).or_insert(mac);
        if earlier != mac {
            let mut macs = vec![earlier, mac];
            macs.sort_unstable();
            collisions.insert(ip, macs);
        }
    }
    collisions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing;

    #[test]
    fn two_machines_answer() {
        let mut facts = testing::facts(2);
        assert_eq!(ip_collisions(&facts), "{}");
        let entry = |nic: &str, ip: &str, mac: &str| serde_json::json!({"outgoing_nic": nic, "remote_ip_address": ip, "remote_mac": mac, "successful": true});
        let report = serde_json::json!({"remote_hosts": [{"l2_connectivity": [
            entry("eth0", "10.0.0.2", "bb"),
            entry("eth1", "10.0.0.2", "cc"),
            entry("eth0", "10.0.0.2", ""),
            entry("eth0", "10.0.0.3", "dd"),
        ]}, {"l2_connectivity": [entry("eth0", "10.0.0.2", "aa")]}]});
        facts.hosts[1].reports.insert(ReportKind::Connectivity, report.to_string().into());
        assert_eq!(ip_collisions(&facts), r#"{"10.0.0.2":["aa","bb"]}"#);
        facts.hosts[1].reports.insert(ReportKind::Connectivity, "nonsense".into());
        assert_eq!(ip_collisions(&facts), "{}");
    }
}
