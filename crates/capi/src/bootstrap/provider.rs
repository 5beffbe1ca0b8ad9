//! What the provider works with: the API server, the copy of its objects, the installer, the queue.

use std::sync::Arc;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::labels::label;
use assisted_crd::cluster_api::labels::{BOOTSTRAP_GROUP, GROUP};
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_kube::cache::get;
use assisted_reconcile::MemoryQueue;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::runtime::reflector::Store;
use kube::{Api, Client, Resource, ResourceExt};

use crate::objects::is_of;

/// Kind of the objects that this is about.
const KIND: &str = "OpenshiftAssistedConfig";

/// The provider.
pub(super) struct Provider<I> {
    pub(super) client: Client,
    pub(super) installer: I,
    pub(super) cache: Cache,
    /// OpenshiftAssistedConfigs that are to be looked at.
    pub(super) queue: Arc<MemoryQueue<ObjectKey>>,
}

/// A copy of what the API server holds.
pub(super) struct Cache {
    pub(super) configs: Store<OpenshiftAssistedConfig>,
    pub(super) machines: Store<Machine>,
    pub(super) clusters: Store<Cluster>,
}

impl<I> Provider<I> {
    /// Objects of a kind in a namespace.
    pub(super) fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The Machine of a config.
    pub(super) fn machine_of(&self, config: &OpenshiftAssistedConfig) -> Option<Arc<Machine>> {
        let owner = machine_owner(config)?;
        let machine =
            get(&self.cache.machines, &ObjectKey::new(config.namespace().unwrap_or_default(), &owner.name))?;
        // Another one of the same name is not its owner.
        (machine.metadata.uid.as_deref() == Some(&owner.uid)).then_some(machine)
    }

    /// The Cluster of a Machine.
    pub(super) fn cluster_of(&self, machine: &Machine) -> Option<Arc<Cluster>> {
        let name = machine.labels().get(label::CLUSTER_NAME).unwrap_or(&machine.spec.cluster_name);
        get(&self.cache.clusters, &ObjectKey::new(machine.namespace().unwrap_or_default(), name))
    }
}

/// The reference to the Machine that owns a config, in whatever version.
pub(super) fn machine_owner(config: &OpenshiftAssistedConfig) -> Option<&OwnerReference> {
    config.owner_references().iter().find(|owner| is_of(owner, GROUP, "Machine"))
}

/// The config of a Machine.
pub(super) fn config_of(machine: &Machine) -> Option<ObjectKey> {
    let reference = machine.spec.bootstrap.config_ref.as_ref()?;
    let is_own = reference.api_group == BOOTSTRAP_GROUP && reference.kind == KIND;
    is_own.then(|| ObjectKey::new(machine.namespace().unwrap_or_default(), &reference.name))
}
