//! What a change is about: the control planes that have to be looked at after it.

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::labels::{CONTROL_PLANE_GROUP, label};
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::machine_deployment::MachineDeployment;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::cache::{get, key};
use assisted_reconcile::objects::mark;
use kube::{Resource, ResourceExt};

use super::provider::{KIND, Provider, plane_of};

pub(super) fn plane(provider: &Provider, plane: &OpenshiftAssistedControlPlane) {
    mark(&provider.queue, key(plane));
}

/// All of them.
pub(super) fn all(provider: &Provider) {
    for found in provider.cache.planes.state() {
        plane(provider, &found);
    }
}

pub(super) fn cluster(provider: &Provider, cluster: &Cluster) {
    let Some(reference) = &cluster.spec.control_plane_ref else { return };
    if reference.api_group == CONTROL_PLANE_GROUP && reference.kind == KIND {
        mark(&provider.queue, ObjectKey::new(cluster.namespace().unwrap_or_default(), &reference.name));
    }
}

pub(super) fn of_cluster(provider: &Provider, namespace: Option<String>, name: &str) {
    if let Some(found) = get(&provider.cache.clusters, &ObjectKey::new(namespace.unwrap_or_default(), name)) {
        cluster(provider, &found);
    }
}

fn owned<K: Resource>(provider: &Provider, object: &K) {
    if let Some(owner) = plane_of(object) {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        mark(&provider.queue, ObjectKey::new(namespace, &owner.name));
    }
}

pub(super) fn machine(provider: &Provider, machine: &Machine) {
    owned(provider, machine);
    // A control plane that goes waits for the workers of its cluster.
    if plane_of(machine).is_none() {
        let name = machine.labels().get(label::CLUSTER_NAME).unwrap_or(&machine.spec.cluster_name);
        of_cluster(provider, machine.namespace(), name);
    }
}

pub(super) fn config(provider: &Provider, config: &OpenshiftAssistedConfig) {
    owned(provider, config);
}

pub(super) fn deployment(provider: &Provider, deployment: &MachineDeployment) {
    of_cluster(provider, deployment.namespace(), &deployment.spec.cluster_name);
}

pub(super) fn install(provider: &Provider, install: &AgentClusterInstall) {
    owned(provider, install);
}
