//! Machines of clusters that look after machines: API, labels and annotations.

use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, Client};

pub(super) const API_VERSION: &str = "machine.openshift.io/v1beta1";
/// Machine: namespace and name of its BareMetalHost.
pub(super) const BARE_METAL_HOST: &str = "metal3.io/BareMetalHost";

fn resource(kind: &str, plural: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk("machine.openshift.io", "v1beta1", kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}

/// Machines of a namespace.
pub(super) fn machines(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource("Machine", "machines"))
}

/// Machines of all namespaces.
pub(super) fn all_machines(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &resource("Machine", "machines"))
}

/// Sets of machines of a namespace.
pub(super) fn machine_sets(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource("MachineSet", "machinesets"))
}
