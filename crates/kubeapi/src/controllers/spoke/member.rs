//! A machine of the hub becomes one of the cluster that it joins (kube-api §6.6.10): a BareMetalHost without a BMC, and a Machine that
//! looks like those of the control plane.

use assisted_crd::labels::annotation;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::apply::apply;
use super::machine::{API_VERSION, BARE_METAL_HOST, all_machines, machines};

/// Where a cluster keeps its machines.
const NAMESPACE: &str = "openshift-machine-api";
/// Machine: the cluster that it is of.
const CLUSTER: &str = "machine.openshift.io/cluster-api-cluster";
/// Machine: what its node is.
const ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
const TYPE: &str = "machine.openshift.io/cluster-api-machine-type";

/// The machine.
#[derive(Clone, Debug)]
pub(in crate::controllers) struct Member {
    /// Name of the BareMetalHost.
    pub(in crate::controllers) name: String,
    /// Name of the ClusterDeployment.
    pub(in crate::controllers) cluster: String,
    /// What its node is to be.
    pub(in crate::controllers) role: String,
    /// Spec of the BareMetalHost on the hub, whole.
    pub(in crate::controllers) spec: Value,
    /// What metal3 is told of its hardware.
    pub(in crate::controllers) hardware: Option<String>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controllers) enum Outcome {
    Added,
    /// The cluster has no Machine of the control plane, which others are made like.
    NoMaster,
    /// That one can't be read.
    Unreadable(&'static str),
}

/// Makes the objects in the cluster, or what differs in them.
///
/// # Errors
/// The API server's.
pub(in crate::controllers) async fn add_member(
    client: Client,
    member: Member,
) -> Result<Outcome, kube::Error> {
    let masters = ListParams::default().labels(&format!("{TYPE}=master")).limit(1);
    let found = all_machines(&client).list(&masters).await?;
    let Some(master) = found.items.first() else { return Ok(Outcome::NoMaster) };
    let image = match image(master) {
        Ok(image) => image,
        Err(what) => return Ok(Outcome::Unreadable(what)),
    };
    let hosts = Api::<BareMetalHost>::namespaced(client.clone(), NAMESPACE);
    apply(&hosts, &member.name, bare_metal_host(&member)).await?;
    let (name, machine) = machine(&member, &image);
    apply(&machines(&client, NAMESPACE), &name, machine).await?;
    Ok(Outcome::Added)
}

/// What a Machine is installed from.
fn image(machine: &DynamicObject) -> Result<Value, &'static str> {
    let value = &machine.data["spec"]["providerSpec"]["value"];
    if value.is_null() {
        return Err("master machine has nil ProviderSpec");
    }
    match &value["image"] {
        Value::Null => Err("master machine ProviderSpec missing 'image' field"),
        Value::Object(image) => {
            let text = |name: &str| image.get(name).cloned().unwrap_or_else(|| "".into());
            Ok(json!({"checksum": text("checksum"), "url": text("url")}))
        }
        _ => Err("master machine ProviderSpec 'image' field has unexpected type"),
    }
}

fn machine_name(member: &Member) -> String {
    format!("{}-{}", member.cluster, member.name)
}

fn bare_metal_host(member: &Member) -> Value {
    let mut spec = member.spec.clone();
    // Whoever turns the machine on and off is the hub.
    spec["bmc"] = json!({"address": "", "credentialsName": ""});
    spec["consumerRef"] = json!({
        "apiVersion": API_VERSION, "kind": "Machine", "namespace": NAMESPACE, "name": machine_name(member),
    });
    let mut annotations = json!({(annotation::INSPECT): "disabled"});
    if let Some(hardware) = &member.hardware {
        annotations[annotation::HARDWARE_DETAILS] = hardware.as_str().into();
    }
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": member.name, "namespace": NAMESPACE, "annotations": annotations},
        "spec": spec,
    })
}

fn machine(member: &Member, image: &Value) -> (String, Value) {
    let name = machine_name(member);
    let machine = json!({
        "apiVersion": API_VERSION, "kind": "Machine",
        "metadata": {
            "name": name, "namespace": NAMESPACE,
            "annotations": {(BARE_METAL_HOST): format!("{NAMESPACE}/{}", member.name)},
            "labels": {(CLUSTER): member.cluster, (ROLE): member.role, (TYPE): member.role},
        },
        "spec": {
            "metadata": {},
            "providerSpec": {"value": {
                "apiVersion": "baremetal.cluster.k8s.io/v1alpha1", "kind": "BareMetalMachineProviderSpec", "image": image,
            }},
        },
    });
    (name, machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn master(spec: &Value) -> DynamicObject {
        serde_json::from_value(json!({"metadata": {"name": "master-0"}, "spec": spec})).unwrap()
    }

    #[test]
    fn a_machine_is_made_like_those_of_the_control_plane() {
        let image_of = |value: Value| image(&master(&json!({"providerSpec": {"value": value}})));
        assert_eq!(
            image_of(json!({"image": {"url": "http://a", "checksum": "b", "other": 1}})),
            Ok(json!({"url": "http://a", "checksum": "b"}))
        );
        assert_eq!(image_of(json!({"image": {}})), Ok(json!({"url": "", "checksum": ""})));
        assert_eq!(image_of(Value::Null), Err("master machine has nil ProviderSpec"));
        assert_eq!(image_of(json!({})), Err("master machine ProviderSpec missing 'image' field"));
        assert_eq!(
            image_of(json!({"image": "x"})),
            Err("master machine ProviderSpec 'image' field has unexpected type")
        );
        assert_eq!(image(&master(&json!({}))), Err("master machine has nil ProviderSpec"));
        let member = Member {
            name: "node-0".to_owned(),
            cluster: "demo".to_owned(),
            role: "worker".to_owned(),
            spec: json!({"bmc": {"address": "redfish://bmc", "credentialsName": "bmc"}, "unknown": 1}),
            hardware: Some("{}".to_owned()),
        };
        let host = bare_metal_host(&member);
        assert_eq!((&host["spec"]["bmc"]["address"], &host["spec"]["unknown"]), (&json!(""), &json!(1)));
        assert_eq!(host["spec"]["consumerRef"]["name"], "demo-node-0");
        assert_eq!(host["metadata"]["annotations"][annotation::HARDWARE_DETAILS], "{}");
        let (name, machine) = machine(&member, &json!({}));
        assert_eq!(name, "demo-node-0");
        assert_eq!(machine["metadata"]["labels"][ROLE], "worker");
        assert_eq!(machine["metadata"]["annotations"][BARE_METAL_HOST], "openshift-machine-api/node-0");
    }
}
