//! Addresses that nobody uses, as the hosts of a cluster found out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use assisted_wire::probe_responses::FreeNetworkAddresses;

use crate::model::facts::HostFacts;
use crate::model::report::ReportKind;

/// By network, as the hosts spell it: the addresses that every host which looked found free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreeAddresses(BTreeMap<String, BTreeSet<Ipv4Addr>>);

impl FreeAddresses {
    /// What the hosts found; a report that can't be read says nothing.
    pub fn of_hosts(hosts: &[HostFacts]) -> Self {
        let mut common: BTreeMap<String, BTreeSet<Ipv4Addr>> = BTreeMap::new();
        for host in hosts {
            let text = host.report(ReportKind::FreeAddresses);
            let Ok(report) = serde_json::from_str::<Vec<FreeNetworkAddresses>>(text) else { continue };
            for found in report {
                let free: BTreeSet<Ipv4Addr> = found.free_addresses.into_iter().flatten().collect();
                common
                    .entry(found.network)
                    .and_modify(|known| known.retain(|address| free.contains(address)))
                    .or_insert(free);
            }
        }
        Self(common)
    }

    /// Addresses of a network; `None`: nobody looked, or nobody found any that all found free.
    pub fn of(&self, network: &str) -> Option<&BTreeSet<Ipv4Addr>> {
        self.0.get(network).filter(|free| !free.is_empty())
    }
}
