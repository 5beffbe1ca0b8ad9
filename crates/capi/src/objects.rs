//! What both providers do with objects: owners, pauses, failures, the order of conditions.

use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::labels::annotation;
use assisted_reconcile::Failure;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference};
use kube::{Resource, ResourceExt};

/// A failure of the API server's.
pub(crate) fn failed(error: &kube::Error) -> Failure {
    if assisted_kube::error::is_conflict(error) {
        return Failure::stale("somebody else has changed the object");
    }
    Failure::passing(assisted_base::error::chain(error))
}

/// A reference to an owner.
pub(crate) fn owner<K: Resource<DynamicType = ()>>(object: &K, is_controller: bool) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: object.meta().name.clone().unwrap_or_default(),
        uid: object.meta().uid.clone().unwrap_or_default(),
        controller: is_controller.then_some(true),
        block_owner_deletion: is_controller.then_some(true),
    }
}

/// Whether a reference is to an object of a kind, in whatever version.
pub(crate) fn is_of(reference: &OwnerReference, group: &str, kind: &str) -> bool {
    reference.kind == kind && reference.api_version.split_once('/').is_some_and(|(own, _)| own == group)
}

/// Why nothing is done with an object for now.
pub(crate) fn paused<K: Resource<DynamicType = ()>>(object: &K, cluster: &Cluster) -> Option<String> {
    if cluster.spec.paused == Some(true) {
        Some("Cluster spec.paused is set to true".to_owned())
    } else if object.annotations().contains_key(annotation::PAUSED) {
        Some(format!("{} has the {} annotation", K::kind(&()), annotation::PAUSED))
    } else {
        None
    }
}

/// In the order of Cluster API: what sums up comes first, the rest by its name.
pub(crate) fn order(kind: &str) -> (u8, String) {
    let rank = match kind {
        "Available" => 0,
        "Ready" => 1,
        _ => 2,
    };
    (rank, kind.to_owned())
}

/// Sorts conditions.
pub(crate) fn sort(conditions: &mut [Condition]) {
    conditions.sort_by_key(|condition| order(&condition.type_));
}
