//! What metal3 does between Cluster API and hardware, as far as objects tell it: when a machine gets a host, and what it says of it. Tests
//! have simulated hosts behind it, the lab its machines.

use serde_json::{Value, json};

/// Who keeps a Metal3Machine until its host is free again.
pub const FINALIZER: &str = "metal3machine.infrastructure.cluster.x-k8s.io";
/// Which host a machine has: `NAMESPACE/NAME`.
pub const HOST: &str = "metal3.io/BareMetalHost";
/// The label of a node that says which host it is.
pub const NODE: &str = "metal3.io/uuid";

/// The status that a Metal3Cluster is to get: it is there at once, as either contract of Cluster API tells it. A definition takes of it what
/// its versions have.
pub fn cluster_status(cluster: &Value) -> Option<Value> {
    (cluster["status"]["ready"] != true).then(there)
}

fn there() -> Value {
    json!({"ready": true, "initialization": {"provisioned": true}})
}

/// The name of the Machine that a Metal3Machine is for.
pub fn machine_of(own: &Value) -> Option<&str> {
    let mut owners = own["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.find(|owner| owner["kind"] == "Machine")?["name"].as_str()
}

/// The Secret with what a Machine boots with, which comes before its host.
pub fn bootstrap_data(machine: &Value) -> Option<&str> {
    machine["spec"]["bootstrap"]["dataSecretName"].as_str().filter(|name| !name.is_empty())
}

/// The host that a Metal3Machine has: its namespace and its name.
pub fn host_of(own: &Value) -> Option<(&str, &str)> {
    own["metadata"]["annotations"][HOST].as_str()?.split_once('/')
}

/// The provider id of the machine whose host has this id.
pub fn provider_id(host: &str) -> String {
    format!("metal3://{host}")
}

/// What says which host a machine has, as a merge patch.
pub fn chosen(namespace: &str, host: &str) -> Value {
    json!({"metadata": {"annotations": {HOST: format!("{namespace}/{host}")}}})
}

/// The status of a machine whose host runs.
pub fn machine_status(address: &str) -> Value {
    let mut status = there();
    status["addresses"] = json!([{"type": "InternalIP", "address": address}]);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_waits_for_its_data_and_knows_its_host() {
        let mut own = json!({"metadata": {"ownerReferences": [{"kind": "Other", "name": "a"}]}});
        assert_eq!((machine_of(&own), host_of(&own)), (None, None));
        own["metadata"]["ownerReferences"] =
            json!([{"kind": "MachineSet", "name": "a"}, {"kind": "Machine", "name": "b"}]);
        own["metadata"]["annotations"] = chosen("demo", "host-1")["metadata"]["annotations"].clone();
        assert_eq!((machine_of(&own), host_of(&own)), (Some("b"), Some(("demo", "host-1"))));
        let machine = |name: &str| json!({"spec": {"bootstrap": {"dataSecretName": name}}});
        assert_eq!(bootstrap_data(&machine("data")), Some("data"));
        assert_eq!((bootstrap_data(&machine("")), bootstrap_data(&json!({}))), (None, None));
        assert_eq!(cluster_status(&json!({"status": cluster_status(&json!({}))})), None);
    }
}
