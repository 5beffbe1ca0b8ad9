//! What all validations of one cluster share: read when the first asks for it, looked up by all others.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use assisted_wire::cluster::{Cluster, ClusterValidationId};
use assisted_wire::host::HostValidationId;
use assisted_wire::id::HostId;
use ipnet::IpNet;

use super::settings::IgnoredValidations;
use crate::layering::input::Input;
use crate::model::embedded;
use crate::model::facts::{Facts, HostFacts};
use crate::model::topology;
use crate::network::connectivity::MajorityGroups;
use crate::network::free_addresses::FreeAddresses;
use crate::network::{address, family};

/// Facts of one cluster, or of one unbound host, with what is derived from all of them together.
pub struct Scope<'a> {
    /// The facts themselves.
    pub facts: &'a Facts,
    /// The machine networks, canonical; the error is the text that is none.
    pub(super) machine_networks: Result<Vec<IpNet>, String>,
    /// Names that several hosts with an inventory have.
    shared_names: OnceCell<BTreeSet<String>>,
    /// Places of the hosts.
    places: OnceCell<HashMap<HostId, usize>>,
    groups: OnceCell<Report<MajorityGroups>>,
    collisions: OnceCell<Report<Collisions>>,
    free: OnceCell<FreeAddresses>,
    pub(super) two_nodes_with_fencing: bool,
    pub(super) ignored_host: IgnoredValidations<HostValidationId>,
    pub(super) ignored_cluster: IgnoredValidations<ClusterValidationId>,
    pub(super) disabled_host: &'a BTreeSet<HostValidationId>,
    pub(super) disabled_cluster: &'a BTreeSet<ClusterValidationId>,
    pub(super) managed: OnceCell<Option<bool>>,
    layering: Option<Input<'a>>,
    /// Whether a validation has asked for another host since that was asked last.
    asked_for_others: Cell<bool>,
}

/// MACs by the address that they all answer for.
type Collisions = BTreeMap<String, Vec<String>>;

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
    /// What is shared by all validations of these facts; it costs next to nothing until they ask.
    pub fn new(facts: &'a Facts) -> Self {
        let record = facts.cluster.as_ref();
        let cluster = record.map(|record| &record.cluster);
        let ignored_host = record.map_or("", |record| record.ignored_host_validations.as_str());
        let ignored_cluster = record.map_or("", |record| record.ignored_cluster_validations.as_str());
        let policy = &facts.policy;
        Self {
            facts,
            machine_networks: cluster.map_or(Ok(Vec::new()), machine_networks),
            shared_names: OnceCell::new(),
            places: OnceCell::new(),
            groups: OnceCell::new(),
            collisions: OnceCell::new(),
            free: OnceCell::new(),
            two_nodes_with_fencing: cluster
                .is_some_and(|cluster| topology::is_two_nodes_with_fencing(cluster, &facts.hosts)),
            ignored_host: IgnoredValidations::of(
                &record.map_or_else(Vec::new, embedded::ignored_host_validations),
            ),
            ignored_cluster: IgnoredValidations::of(
                &record.map_or_else(Vec::new, embedded::ignored_cluster_validations),
            ),
            // A cluster's own list, even an empty one, takes the place of the service's (validations §1.3).
            disabled_host: if ignored_host.is_empty() {
                &policy.hosts.disabled_host_validations
            } else {
                const { &BTreeSet::new() }
            },
            disabled_cluster: if ignored_cluster.is_empty() {
                &policy.hosts.disabled_cluster_validations
            } else {
                const { &BTreeSet::new() }
            },
            managed: OnceCell::new(),
            layering: Input::of(facts),
            asked_for_others: Cell::new(false),
        }
    }

    /// The cluster; `None` for an unbound host.
    pub fn cluster(&self) -> Option<&'a Cluster> {
        self.facts.cluster.as_ref().map(|record| &record.cluster)
    }

    /// Whether several hosts with an inventory have the name.
    pub(super) fn is_name_shared(&self, name: &str) -> bool {
        let shared = self.shared_names.get_or_init(|| {
            let known = self.facts.hosts.iter().filter(|host| host.inventory.is_some());
            let mut seen = HashSet::with_capacity(self.facts.hosts.len());
            known.map(topology::host_name).filter(|name| !seen.insert(*name)).map(str::to_owned).collect()
        });
        shared.contains(name)
    }

    /// The host of an id.
    pub(super) fn host(&self, id: HostId) -> Option<&'a HostFacts> {
        self.asked_for_others.set(true);
        let hosts = || self.facts.hosts.iter().enumerate();
        let places = || hosts().map(|(place, host)| (host.record.host.id, place)).collect();
        self.places.get_or_init(places).get(&id).map(|place| &self.facts.hosts[*place])
    }

    /// Whether a validation has asked for another host since this was asked last.
    pub(super) fn asked_for_others(&self) -> bool {
        self.asked_for_others.take()
    }

    /// Who reaches whom.
    pub(super) fn groups(&self) -> &Report<MajorityGroups> {
        let text = || self.cluster().map_or("", |cluster| cluster.connectivity_majority_groups.as_str());
        self.groups.get_or_init(|| Report::read(text()))
    }

    /// Addresses that two machines answer for.
    pub(super) fn collisions(&self) -> &Report<Collisions> {
        let text = || self.cluster().map_or("", |cluster| cluster.ip_collisions.as_str());
        self.collisions.get_or_init(|| Report::read(text()))
    }

    /// What image mode asks of the cluster; `None` where it is not enabled.
    pub(super) fn layering(&self) -> Option<&Input<'a>> {
        self.layering.as_ref()
    }

    /// Addresses that nobody uses.
    pub(super) fn free(&self) -> &FreeAddresses {
        self.free.get_or_init(|| FreeAddresses::of_hosts(&self.facts.hosts))
    }
}

fn machine_networks(cluster: &Cluster) -> Result<Vec<IpNet>, String> {
    let texts = family::machine_networks(cluster).filter(|text| !text.is_empty());
    texts.map(|text| address::parse_network(text).ok_or_else(|| text.to_owned())).collect()
}
