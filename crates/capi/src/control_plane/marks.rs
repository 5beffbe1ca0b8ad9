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

use super::management_cluster::{KIND, ManagementCluster, plane_of};

pub(super) fn plane(management: &ManagementCluster, plane: &OpenshiftAssistedControlPlane) {
    mark(&management.queue, key(plane));
}

/// All of them.
pub(super) fn all(management: &ManagementCluster) {
    for found in management.cache.planes.state() {
        plane(management, &found);
    }
}

pub(super) fn cluster(management: &ManagementCluster, cluster: &Cluster) {
    let Some(reference) = &cluster.spec.control_plane_ref else { return };
    if reference.api_group == CONTROL_PLANE_GROUP && reference.kind == KIND {
        mark(&management.queue, ObjectKey::new(cluster.namespace().unwrap_or_default(), &reference.name));
    }
}

pub(super) fn of_cluster(management: &ManagementCluster, namespace: Option<String>, name: &str) {
    if let Some(found) = get(&management.cache.clusters, &ObjectKey::new(namespace.unwrap_or_default(), name))
    {
        cluster(management, &found);
    }
}

fn owned<K: Resource>(management: &ManagementCluster, object: &K) {
    if let Some(owner) = plane_of(object) {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        mark(&management.queue, ObjectKey::new(namespace, &owner.name));
    }
}

pub(super) fn machine(management: &ManagementCluster, machine: &Machine) {
    owned(management, machine);
    // A control plane that goes waits for the workers of its cluster.
    if plane_of(machine).is_none() {
        let name = machine.labels().get(label::CLUSTER_NAME).unwrap_or(&machine.spec.cluster_name);
        of_cluster(management, machine.namespace(), name);
    }
}

pub(super) fn config(management: &ManagementCluster, config: &OpenshiftAssistedConfig) {
    owned(management, config);
}

pub(super) fn deployment(management: &ManagementCluster, deployment: &MachineDeployment) {
    of_cluster(management, deployment.namespace(), &deployment.spec.cluster_name);
}

pub(super) fn install(management: &ManagementCluster, install: &AgentClusterInstall) {
    owned(management, install);
}
