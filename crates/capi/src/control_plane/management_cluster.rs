//! The management cluster: its API server, the copy of its objects, and what is to be looked at.

use std::sync::Arc;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::labels::{CONTROL_PLANE_GROUP, GROUP};
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::machine_deployment::MachineDeployment;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_kube::cache::get;
use assisted_reconcile::MemoryQueue;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::runtime::reflector::Store;
use kube::{Api, Client, Resource, ResourceExt};

use crate::objects::is_of;

/// Kind of the objects that this is about.
pub(super) const KIND: &str = "OpenshiftAssistedControlPlane";

/// The cluster whose objects ask for control planes.
pub(super) struct ManagementCluster {
    pub(super) client: Client,
    pub(super) cache: Cache,
    /// OpenshiftAssistedControlPlanes that are to be looked at.
    pub(super) queue: Arc<MemoryQueue<ObjectKey>>,
}

/// A copy of what the API server holds.
pub(super) struct Cache {
    pub(super) planes: Store<OpenshiftAssistedControlPlane>,
    pub(super) clusters: Store<Cluster>,
    pub(super) machines: Store<Machine>,
    pub(super) configs: Store<OpenshiftAssistedConfig>,
    pub(super) deployments: Store<MachineDeployment>,
}

impl ManagementCluster {
    /// Objects of a kind in a namespace.
    pub(super) fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The Cluster that owns a control plane.
    pub(super) fn cluster_of(&self, plane: &OpenshiftAssistedControlPlane) -> Option<Arc<Cluster>> {
        let owner = plane.owner_references().iter().find(|owner| is_of(owner, GROUP, "Cluster"))?;
        let key = ObjectKey::new(plane.namespace().unwrap_or_default(), &owner.name);
        // Another one of the same name is not its owner.
        get(&self.cache.clusters, &key).filter(|cluster| cluster.metadata.uid.as_deref() == Some(&owner.uid))
    }
}

/// The control plane that an object belongs to, by its owners.
pub(super) fn plane_of<K: Resource>(object: &K) -> Option<&OwnerReference> {
    let owners = object.meta().owner_references.as_deref().unwrap_or_default();
    owners.iter().find(|owner| is_of(owner, CONTROL_PLANE_GROUP, KIND))
}

/// Whether an object belongs to a control plane.
pub(super) fn is_owned<K: Resource>(object: &K, plane: &OpenshiftAssistedControlPlane) -> bool {
    plane_of(object).is_some_and(|owner| plane.metadata.uid.as_deref() == Some(&owner.uid))
}
