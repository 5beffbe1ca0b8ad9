//! Addresses that two machines answer for (validations §5.4).

use crate::model::facts::Facts;
use crate::model::report::ReportKind;

/// Collisions that the hosts saw, as the text of `ip_collisions`: from address to the two MACs, sorted.
///
/// Only those that the last host (by id) with a report saw, as clients know it (state-machines §11).
pub fn ip_collisions(facts: &Facts) -> String {
    let reports = facts.hosts.iter().filter(|host| !host.report(ReportKind::Connectivity).is_empty());
    let last = reports.max_by_key(|host| host.record.host.id);
    let collisions =
        last.and_then(|host| host.connectivity.as_deref()).map(|connectivity| &connectivity.collisions);
    // Maps of texts always serialise.
    collisions.map_or_else(|| "{}".to_owned(), |found| serde_json::to_string(found).unwrap_or_default())
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
        facts.hosts[1].put_report(ReportKind::Connectivity, report.to_string().into());
        assert_eq!(ip_collisions(&facts), r#"{"10.0.0.2":["aa","bb"]}"#);
        facts.hosts[1].put_report(ReportKind::Connectivity, "nonsense".into());
        assert_eq!(ip_collisions(&facts), "{}");
    }
}
