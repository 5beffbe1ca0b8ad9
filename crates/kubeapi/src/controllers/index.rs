//! Objects by what others look for them by: a change of one among thousands is told to those that it is about without a look at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use kube::ResourceExt;
use kube::runtime::reflector::Store;
use parking_lot::RwLock;

use super::cache::{get, key};
use super::relations::bound_to;

/// A namespace, and a hardware address in it in small letters.
type Address = (String, String);

/// Keys of objects by something that they have, several times or not at all.
#[derive(Debug)]
struct KeyIndex<T>(RwLock<BTreeMap<T, BTreeSet<ObjectKey>>>);

impl<T> Default for KeyIndex<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<T: Ord + Clone> KeyIndex<T> {
    /// Notes what an object had, and has now.
    fn change(&self, own: &ObjectKey, before: &BTreeSet<T>, after: &BTreeSet<T>) {
        if before == after && after.is_empty() {
            return;
        }
        let mut all = self.0.write();
        for gone in before.difference(after) {
            if let Some(keys) = all.get_mut(gone) {
                keys.remove(own);
                if keys.is_empty() {
                    all.remove(gone);
                }
            }
        }
        // What stays is noted as well: a watch that begins anew tells of no state before.
        for kept in after {
            all.entry(kept.clone()).or_default().insert(own.clone());
        }
    }

    fn find(&self, wanted: &T) -> Vec<ObjectKey> {
        self.0.read().get(wanted).into_iter().flatten().cloned().collect()
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Index {
    agents_by_address: KeyIndex<Address>,
    agents_by_cluster: KeyIndex<ObjectKey>,
    machines_by_address: KeyIndex<Address>,
}

impl Index {
    /// Notes a change of an Agent. What it had before is not known when a watch begins anew: whoever finds an object here looks whether
    /// it has what was looked for.
    pub(super) fn agent(&self, before: Option<&Agent>, after: Option<&Agent>) {
        let Some(own) = after.or(before).map(key) else { return };
        let addresses = |agent: Option<&Agent>| agent.map(addresses_of).unwrap_or_default();
        self.agents_by_address.change(&own, &addresses(before), &addresses(after));
        let cluster = |agent: Option<&Agent>| agent.and_then(bound_to).into_iter().collect::<BTreeSet<_>>();
        self.agents_by_cluster.change(&own, &cluster(before), &cluster(after));
    }

    /// Notes a change of a machine.
    pub(super) fn machine(&self, before: Option<&BareMetalHost>, after: Option<&BareMetalHost>) {
        let Some(own) = after.or(before).map(key) else { return };
        let address = |machine: Option<&BareMetalHost>| {
            machine.and_then(address_of).into_iter().collect::<BTreeSet<_>>()
        };
        self.machines_by_address.change(&own, &address(before), &address(after));
    }

    /// The Agents of a cluster.
    pub(super) fn agents_of(&self, agents: &Store<Agent>, cluster: &ObjectKey) -> Vec<Arc<Agent>> {
        let found = self.agents_by_cluster.find(cluster);
        let found = found.iter().filter_map(|key| get(agents, key));
        found.filter(|agent| bound_to(agent).as_ref() == Some(cluster)).collect()
    }

    /// The Agent that a machine is: of several that it had, the newest (kube-api §6.6.1).
    pub(super) fn newest_agent(&self, agents: &Store<Agent>, machine: &BareMetalHost) -> Option<Arc<Agent>> {
        let address = address_of(machine)?;
        let found = self.agents_by_address.find(&address);
        let found = found.iter().filter_map(|key| get(agents, key));
        let found = found.filter(|agent| addresses_of(agent).contains(&address));
        found.max_by_key(|agent| (agent.creation_timestamp().map(|at| at.0), agent.name_any()))
    }

    /// The machines that an Agent may be.
    pub(super) fn machines_of(&self, agent: &Agent) -> Vec<ObjectKey> {
        addresses_of(agent).iter().flat_map(|address| self.machines_by_address.find(address)).collect()
    }
}

/// The hardware addresses of a host.
fn addresses_of(agent: &Agent) -> BTreeSet<Address> {
    let namespace = agent.namespace().unwrap_or_default();
    let inventory = agent.status.as_ref().and_then(|status| status.inventory.as_ref());
    let interfaces = inventory.into_iter().flat_map(|inventory| &inventory.interfaces);
    let addresses = interfaces.map(|interface| interface.mac_address.to_ascii_lowercase());
    addresses.filter(|mac| !mac.is_empty()).map(|mac| (namespace.clone(), mac)).collect()
}

/// The hardware address that a machine boots from.
fn address_of(machine: &BareMetalHost) -> Option<Address> {
    let mac = machine.spec.boot_mac_address.to_ascii_lowercase();
    (!mac.is_empty()).then(|| (machine.namespace().unwrap_or_default(), mac))
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector::store::Writer;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::*;

    fn agent(name: &str, created: &str, macs: &[&str], cluster: Option<&str>) -> Agent {
        let interfaces: Vec<_> = macs.iter().map(|mac| json!({"macAddress": mac, "flags": []})).collect();
        let cluster = cluster.map(|name| json!({"name": name, "namespace": "site"}));
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "site", "creationTimestamp": created},
            "spec": {"approved": true, "role": "", "clusterDeploymentName": cluster},
            "status": {"inventory": {"interfaces": interfaces}},
        }))
        .unwrap()
    }

    fn machine(name: &str, namespace: &str, mac: &str) -> BareMetalHost {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": namespace}, "spec": {"bootMACAddress": mac},
        }))
        .unwrap()
    }

    #[test]
    fn what_changes_is_found_by_what_it_has_now() {
        let index = Index::default();
        let mut writer = Writer::<Agent>::new(());
        let agents = writer.as_reader();
        let mut hold = |before: Option<&Agent>, after: &Agent| {
            writer.apply_watcher_event(&Event::Apply(after.clone()));
            index.agent(before, Some(after));
        };
        let old = agent("old", "2024-01-01T00:00:00Z", &["02:00:00:00:00:0A"], Some("demo"));
        let new = agent("new", "2024-02-01T00:00:00Z", &["02:00:00:00:00:0a", "02:00:00:00:00:0b"], None);
        hold(None, &old);
        hold(None, &new);
        let found = |namespace: &str, mac: &str| {
            let found = index.newest_agent(&agents, &machine("node-0", namespace, mac));
            found.map(|agent| agent.name_any())
        };
        assert_eq!(found("site", "02:00:00:00:00:0A").as_deref(), Some("new"));
        assert_eq!(found("other", "02:00:00:00:00:0A"), None);
        assert_eq!(found("site", ""), None);
        let of = |name: &str| index.agents_of(&agents, &ObjectKey::new("site", name)).len();
        assert_eq!((of("demo"), of("other")), (1, 0));

        // The newest loses its address; a watch that began anew did not tell what it was before.
        let moved = agent("new", "2024-02-01T00:00:00Z", &["02:00:00:00:00:0c"], Some("demo"));
        hold(None, &moved);
        assert_eq!(found("site", "02:00:00:00:00:0A").as_deref(), Some("old"));
        assert_eq!((found("site", "02:00:00:00:00:0c").as_deref(), of("demo")), (Some("new"), 2));

        let own = machine("node-0", "site", "02:00:00:00:00:0C");
        index.machine(None, Some(&own));
        assert_eq!(index.machines_of(&moved), [ObjectKey::new("site", "node-0")]);
        index.machine(Some(&own), None);
        assert!(index.machines_of(&moved).is_empty());
        index.agent(Some(&moved), None);
        assert_eq!(index.agents_by_cluster.find(&ObjectKey::new("site", "demo")).len(), 1);
    }
}
