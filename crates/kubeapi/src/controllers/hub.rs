//! What all reconcilers share: the service, the API server, the copy of its objects, the queues.

use std::sync::Arc;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::labels::label;
use assisted_kube::error::{is_conflict, message};
pub(super) use assisted_kube::time::{now, whole_seconds};
use assisted_kube::write::{Guard, object};
use assisted_reconcile::Failure;
pub(super) use assisted_reconcile::objects::after;
use assisted_service::{Caller, Service};
use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use uuid::Uuid;

use super::cache::Cache;
use super::index::Index;
use super::queues::Queues;
use super::spoke::Spokes;
use super::synced::Synced;

/// Value of the labels that ask for something.
const YES: &str = "true";

/// A handle on everything; a clone is another.
pub(super) type Hub = Arc<Shared>;

pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) service: Service,
    pub(super) cache: Cache,
    pub(super) index: Index,
    /// Whether metal3 inspects and cleans machines with the images of InfraEnvs, and has them installed.
    pub(super) is_converged: bool,
    pub(super) queues: Queues,
    /// The clusters that were installed.
    pub(super) spokes: Spokes,
    pub(super) synced: Synced,
}

impl Shared {
    /// Objects of a kind in a namespace.
    pub(super) fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The caller in whose name rows are changed.
    pub(super) fn caller(&self) -> Caller {
        Caller::admin(Uuid::new_v4())
    }

    /// Whether there is an image service.
    pub(super) fn has_images(&self) -> bool {
        self.service.settings().http.enable_image_service
    }

    /// The BareMetalHost behind an Agent, in its namespace; none where they are not looked after.
    pub(super) fn bare_metal_host<'a>(&self, agent: &'a Agent) -> Option<&'a str> {
        machine_of(agent, self.service.settings().kube.enable_metal3)
    }

    /// Has a Secret or ConfigMap watched, and taken along by backups (kube-api §3.3); the object as it is then.
    pub(super) async fn label<K>(&self, found: K) -> Result<K, kube::Error>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Serialize
            + DeserializeOwned
            + Clone
            + Debug,
    {
        let mut labelled = found.clone();
        let labels = labelled.meta_mut().labels.get_or_insert_default();
        for name in [label::WATCH, label::BACKUP] {
            labels.entry(name.to_owned()).or_insert_with(|| YES.to_owned());
        }
        let namespace = found.meta().namespace.clone().unwrap_or_default();
        let written = object(&self.api(&namespace), &found, &labelled, Guard::Free).await?;
        Ok(written.unwrap_or(found))
    }
}

/// The failure of a pass: the API server's, which is tried again. That somebody else wrote first is none: the watch is about to tell of
/// it.
pub(super) fn failed(error: &kube::Error) -> Failure {
    let text = message(error);
    if is_conflict(error) { Failure::stale(text) } else { Failure::passing(text) }
}

/// The failure of a pass: the service's.
pub(super) fn service_failure(error: &assisted_service::Error) -> Failure {
    Failure::passing(assisted_base::error::chain(error))
}

/// The BareMetalHost that the label of an Agent names.
fn machine_of(agent: &Agent, are_looked_after: bool) -> Option<&str> {
    let labels = agent.metadata.labels.as_ref().filter(|_| are_looked_after)?;
    labels.get(label::BARE_METAL_HOST).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_a_machine_only_where_machines_are_looked_after() {
        let mut agent = Agent::default();
        assert_eq!(machine_of(&agent, true), None);
        let labels = agent.metadata.labels.get_or_insert_default();
        labels.insert(label::BARE_METAL_HOST.to_owned(), "node-0".to_owned());
        assert_eq!(machine_of(&agent, true), Some("node-0"));
        assert_eq!(machine_of(&agent, false), None);
    }
}
