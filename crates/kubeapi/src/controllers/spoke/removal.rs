//! The node of a host that leaves goes, with the machine that stands for it where the cluster looks after machines (kube-api §6.4.9).

use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::error::optional;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::machine::{BARE_METAL_HOST, machine_sets, machines};

/// Node: namespace and name of its Machine.
const MACHINE: &str = "machine.openshift.io/machine";
/// Machine: its presence says that it is the one to go when its set shrinks.
const DELETE_MACHINE: &str = "machine.openshift.io/delete-machine";
/// Machine: its presence says that its node is not to be drained.
const EXCLUDE_NODE_DRAINING: &str = "machine.openshift.io/exclude-node-draining";
/// Machine: name of its set.
const MACHINE_SET: &str = "machine.openshift.io/cluster-api-machineset";
/// MachineSet: its presence says that it has as many machines as there are hosts.
const AUTOSCALE_TO_HOSTS: &str = "metal3.io/autoscale-to-hosts";

/// Removes a node, if it is there.
///
/// # Errors
/// The API server's.
pub(in crate::controllers) async fn remove_node(client: &Client, name: &str) -> Result<(), kube::Error> {
    let nodes = Api::<Node>::all(client.clone());
    let Some(node) = optional(nodes.get(name).await)? else { return Ok(()) };
    let reference = node.annotations().get(MACHINE).and_then(|text| namespaced(text));
    let Some((namespace, machine_name)) = reference else { return delete(&nodes, name).await };
    let machines = machines(client, namespace);
    let Some(machine) = optional(machines.get(machine_name).await)? else {
        return delete(&nodes, name).await;
    };
    annotate(&machines, machine_name, &[DELETE_MACHINE, EXCLUDE_NODE_DRAINING]).await?;
    let sets = machine_sets(client, namespace);
    let set = match machine.labels().get(MACHINE_SET) {
        Some(set) => optional(sets.get(set).await)?,
        None => None,
    };
    if let Some(set) = &set {
        annotate(&sets, &set.name_any(), &[AUTOSCALE_TO_HOSTS]).await?;
    }
    if let Some((namespace, host)) =
        machine.annotations().get(BARE_METAL_HOST).and_then(|text| namespaced(text))
    {
        delete(&Api::<BareMetalHost>::namespaced(client.clone(), namespace), host).await?;
    }
    // With its set the machine goes by itself, now that there is a host less.
    if set.is_none() { delete(&machines, machine_name).await } else { Ok(()) }
}

/// Namespace and name.
fn namespaced(text: &str) -> Option<(&str, &str)> {
    let (namespace, name) = text.split_once('/')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains('/')).then_some((namespace, name))
}

async fn annotate(api: &Api<DynamicObject>, name: &str, keys: &[&str]) -> Result<(), kube::Error> {
    let annotations: serde_json::Map<_, _> =
        keys.iter().map(|key| ((*key).to_owned(), "true".into())).collect();
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    api.patch(name, &PatchParams::default(), &patch).await.map(drop)
}

/// Deletes an object, if it is there.
async fn delete<K>(api: &Api<K>, name: &str) -> Result<(), kube::Error>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    optional(api.delete(name, &DeleteParams::default()).await).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_a_namespace_and_a_name() {
        assert_eq!(namespaced("machines/worker-7"), Some(("machines", "worker-7")));
        for text in ["", "worker-7", "/worker-7", "machines/", "machines/a/b"] {
            assert_eq!(namespaced(text), None, "{text}");
        }
    }
}
