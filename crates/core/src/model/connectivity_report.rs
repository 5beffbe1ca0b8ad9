//! A connectivity report, read once: what decisions need of it, without all that they don't.
//!
//! In a cluster of 500 hosts each report describes 499 others in a hundred kilobytes; every look at the cluster needs all
//! of them, though mostly none has changed. Whoever loads hosts keeps what was read as long as the text is the same.
//! What only a bad network calls for, the quality of each link, is read when it is first asked for.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::OnceLock;

use assisted_wire::id::HostId;
use assisted_wire::probe_responses::{ConnectivityRemoteHost, ConnectivityReport, MtuReport};

/// What one host found out about the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedConnectivity {
    /// By host, each once.
    pub(crate) remotes: Vec<Remote>,
    /// Addresses that two machines answer for, with both MACs, sorted.
    pub(crate) collisions: BTreeMap<String, [String; 2]>,
    /// The longest round trip, milliseconds.
    pub(crate) worst_latency: f64,
    /// The largest loss, percent.
    pub(crate) worst_loss: f64,
    /// The ways on which full-sized packets got lost.
    pub(crate) broken_mtus: Vec<MtuReport>,
    /// Fingerprint of remotes and collisions.
    pub(crate) print: u64,
    links: OnceLock<Vec<Link>>,
}

/// How good the way to an address of another host is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    pub(crate) to: HostId,
    pub(crate) address: String,
    /// Round trip, milliseconds.
    pub(crate) latency: f64,
    /// Percent.
    pub(crate) loss: f64,
}

/// Addresses of another host that answered, each sorted.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct Remote {
    pub(crate) id: HostId,
    /// On the link.
    pub(crate) on_link: Vec<IpAddr>,
    /// Over routes.
    pub(crate) routed: Vec<IpAddr>,
}

impl ParsedConnectivity {
    /// Reads a report; `None` unless it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let report: ConnectivityReport = serde_json::from_str(text).ok()?;
        let remotes = || report.remote_hosts.iter().flatten();
        let links = || remotes().flat_map(|remote| remote.l3_connectivity.iter().flatten());
        let mtus = remotes().flat_map(|remote| remote.mtu_report.iter().flatten());
        let mut connectivity = Self {
            remotes: by_id(report.remote_hosts.as_deref().unwrap_or_default()),
            collisions: collisions(&report),
            worst_latency: links().map(|link| link.average_rtt_ms).fold(0.0, f64::max),
            worst_loss: links().map(|link| link.packet_loss_percentage).fold(0.0, f64::max),
            broken_mtus: mtus.filter(|mtu| !mtu.mtu_successful).cloned().collect(),
            print: 0,
            links: OnceLock::new(),
        };
        let mut hasher = DefaultHasher::new();
        connectivity.remotes.hash(&mut hasher);
        connectivity.collisions.hash(&mut hasher);
        connectivity.print = hasher.finish();
        Some(connectivity)
    }

    /// How good the ways to the others are; `text` is the report that this was read from.
    pub(crate) fn links(&self, text: &str) -> &[Link] {
        self.links.get_or_init(|| {
            let report: ConnectivityReport = serde_json::from_str(text).unwrap_or_default();
            let remotes = report.remote_hosts.into_iter().flatten();
            let links = remotes.flat_map(|remote| {
                let to = remote.host_id.unwrap_or_default();
                remote.l3_connectivity.into_iter().flatten().map(move |link| Link {
                    to,
                    address: link.remote_ip_address,
                    latency: link.average_rtt_ms,
                    loss: link.packet_loss_percentage,
                })
            });
            links.collect()
        })
    }
}

/// Addresses that are kept of one host, of each kind: no host has as many.
const ADDRESSES: usize = 1_024;

/// What the report says of each host, whether at once or in several entries, by id.
fn by_id(entries: &[ConnectivityRemoteHost]) -> Vec<Remote> {
    let mut places: HashMap<HostId, usize> = HashMap::with_capacity(entries.len());
    let mut remotes: Vec<Remote> = Vec::with_capacity(entries.len());
    for entry in entries {
        let Some(id) = entry.host_id else { continue };
        let place = *places.entry(id).or_insert_with(|| {
            remotes.push(Remote { id, ..Remote::default() });
            remotes.len() - 1
        });
        let l2 = entry.l2_connectivity.iter().flatten().filter(|each| each.successful);
        let l3 = entry.l3_connectivity.iter().flatten().filter(|each| each.successful);
        remotes[place].on_link.extend(l2.filter_map(|each| each.remote_ip_address.parse::<IpAddr>().ok()));
        remotes[place].routed.extend(l3.filter_map(|each| each.remote_ip_address.parse::<IpAddr>().ok()));
    }
    for Remote { on_link, routed, .. } in &mut remotes {
        for addresses in [on_link, routed] {
            addresses.sort_unstable();
            addresses.dedup();
            addresses.truncate(ADDRESSES);
        }
    }
    remotes.sort_unstable_by_key(|remote| remote.id);
    remotes
}

/// Addresses for which the same interface saw two MACs, the earlier one not empty (validations §5.4).
fn collisions(report: &ConnectivityReport) -> BTreeMap<String, [String; 2]> {
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
            let mut macs = [earlier.to_owned(), mac.to_owned()];
            macs.sort_unstable();
            collisions.insert(ip.to_owned(), macs);
        }
    }
    collisions
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn worst_and_broken() {
        let id = HostId::default();
        let parse = |report: serde_json::Value| ParsedConnectivity::parse(&report.to_string()).unwrap();
        let connectivity = parse(json!({"remote_hosts": [
            {"host_id": id, "l3_connectivity": [
                {"successful": true, "remote_ip_address": "10.0.0.2", "average_rtt_ms": 3.5},
                {"successful": false, "remote_ip_address": "10.0.0.3", "packet_loss_percentage": 100.0},
            ]},
            {"host_id": id, "l3_connectivity": [
                {"successful": true, "remote_ip_address": "10.0.0.1", "average_rtt_ms": 1.5},
                {"successful": true, "remote_ip_address": "10.0.0.2"},
            ], "mtu_report": [{"mtu_successful": true}]},
        ]}));
        assert_eq!((connectivity.worst_latency, connectivity.worst_loss), (3.5, 100.0));
        assert_eq!(connectivity.broken_mtus, []);
        let addresses: Vec<IpAddr> = vec!["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
        assert_eq!(connectivity.remotes, [Remote { id, on_link: vec![], routed: addresses }]);
        let broken = parse(json!({"remote_hosts": [{"mtu_report": [
            {"outgoing_nic": "eth0"}, {"outgoing_nic": "eth1", "mtu_successful": true},
        ]}]}));
        assert_eq!(broken.broken_mtus.iter().map(|mtu| &mtu.outgoing_nic).collect::<Vec<_>>(), ["eth0"]);
        assert_eq!(ParsedConnectivity::parse("nonsense"), None);
        assert_eq!(parse(json!({})).remotes, []);
    }

    #[test]
    fn the_fingerprint_is_of_who_answered() {
        let print = |rtt: f64, ip: &str, mac: &str| {
            let report = json!({"remote_hosts": [{
                "host_id": HostId::default(),
                "l3_connectivity": [{"successful": true, "remote_ip_address": ip, "average_rtt_ms": rtt}],
                "l2_connectivity": [
                    {"outgoing_nic": "eth0", "remote_ip_address": "10.0.0.9", "remote_mac": "aa"},
                    {"outgoing_nic": "eth0", "remote_ip_address": "10.0.0.9", "remote_mac": mac},
                ],
            }]});
            ParsedConnectivity::parse(&report.to_string()).unwrap().print
        };
        let known = print(1.0, "10.0.0.1", "aa");
        assert_eq!(known, print(2.0, "10.0.0.1", "aa"));
        assert_ne!(known, print(1.0, "10.0.0.2", "aa"));
        assert_ne!(known, print(1.0, "10.0.0.1", "bb"));
    }
}
