//! What all validations of one cluster share: read once, looked up by each host.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use assisted_wire::cluster::{Cluster, ClusterValidationId};
use assisted_wire::host::HostValidationId;
use assisted_wire::id::HostId;
use ipnet::IpNet;

use super::settings::Ignored;
use super::topology;
use crate::facts::{Facts, HostFacts};
use crate::network::connectivity::MajorityGroups;
use crate::network::{address, family};

/// Facts of one cluster, or of one unbound host, with what is derived from all of them together.
pub struct Scope<'a> {
    /// The facts themselves.
    pub facts: &'a Facts,
    /// The machine networks, canonical; the error is the text that is none.
    pub(super) machine_networks: Result<Vec<IpNet>, String>,
    /// How many hosts with an inventory have a name.
    names: HashMap<&'a str, usize>,
    pub(super) hosts_by_id: HashMap<HostId, &'a HostFacts>,
    pub(super) groups: Report<MajorityGroups>,
    pub(super) collisions: Report<BTreeMap<String, Vec<String>>>,
    pub(super) two_nodes_with_fencing: bool,
    pub(super) ignored_host: Ignored<HostValidationId>,
    pub(super) ignored_cluster: Ignored<ClusterValidationId>,
    pub(super) disabled_host: &'a BTreeSet<HostValidationId>,
    pub(super) disabled_cluster: &'a BTreeSet<ClusterValidationId>,
    pub(super) managed: OnceCell<Option<bool>>,
}

/// A stored text that may be missing, or broken.
pub(super) enum Report<T> {
    Missing,
    Broken,
    Read(T),
}

impl<T: serde::de::DeserializeOwned> Report<T> {
    /// Reads a stored text.
    pub(super) fn read(text: &str) -> Self {
        if text.is_empty() {
            return Self::Missing;
        }
        serde_json::from_str(text).map_or(Self::Broken, Self::Read)
    }
}

impl<'a> Scope<'a> {
    /// Reads what all validations share.
    pub fn new(facts: &'a Facts) -> Self {
        let record = facts.cluster.as_ref();
        let cluster = record.map(|record| &record.cluster);
        let mut names = HashMap::with_capacity(facts.hosts.len());
        for host in facts.hosts.iter().filter(|host| host.inventory.is_some()) {
            *names.entry(topology::host_name(host)).or_default() += 1;
        }
        let ignored_host = record.map_or("", |record| record.ignored_host_validations.as_str());
        let ignored_cluster = record.map_or("", |record| record.ignored_cluster_validations.as_str());
        let settings = &facts.settings;
        Self {
            facts,
            machine_networks: cluster.map_or(Ok(Vec::new()), machine_networks),
            names,
            hosts_by_id: facts.hosts.iter().map(|host| (host.record.host.id, host)).collect(),
            groups: cluster
                .map_or(Report::Missing, |cluster| Report::read(&cluster.connectivity_majority_groups)),
            collisions: cluster.map_or(Report::Missing, |cluster| Report::read(&cluster.ip_collisions)),
            two_nodes_with_fencing: cluster
                .is_some_and(|cluster| topology::is_two_nodes_with_fencing(cluster, &facts.hosts)),
            ignored_host: Ignored::parse(ignored_host),
            ignored_cluster: Ignored::parse(ignored_cluster),
            // A cluster's own list, even an empty one, takes the place of the service's (validations §1.3).
            disabled_host: if ignored_host.is_empty() {
                &settings.hosts.disabled_host_validations
            } else {
                const { &BTreeSet::new() }
            },
            disabled_cluster: if ignored_cluster.is_empty() {
                &settings.hosts.disabled_cluster_validations
            } else {
                const { &BTreeSet::new() }
            },
            managed: OnceCell::new(),
        }
    }

    /// The cluster; `None` for an unbound host.
    pub fn cluster(&self) -> Option<&'a Cluster> {
        self.facts.cluster.as_ref().map(|record| &record.cluster)
    }

    /// Whether several hosts with an inventory have the name.
    pub(super) fn is_name_shared(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(|count| *count > 1)
    }
}

fn machine_networks(cluster: &Cluster) -> Result<Vec<IpNet>, String> {
    let texts = family::machine_networks(cluster).filter(|text| !text.is_empty());
    texts.map(|text| address::parse_network(text).ok_or_else(|| text.to_owned())).collect()
}
