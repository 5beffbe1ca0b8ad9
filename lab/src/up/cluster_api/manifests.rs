//! The objects of a cluster: the documentation's example, with what is the lab's own in it.

use assisted_crd::cluster_api::labels::annotation::{BOOT_METHOD, RELEASE_REPOSITORY};
use assisted_crd::cluster_api::labels::label;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Boots;
use crate::network::{API_VIP, GATEWAY, INGRESS_VIP, REGISTRY};
use crate::release::RELEASE;
use crate::up::manifests::{FILE, machine, metadata, pull_secret};
use crate::up::topology::{Planned, Role};
use crate::up::{Lab, LabError, NAME, heading, payload, service};

/// The example, but for its pull secret.
const EXAMPLES: [&str; 3] = [
    include_str!("../../../../docs/examples/cluster-api/cluster.yaml"),
    include_str!("../../../../docs/examples/cluster-api/control-plane.yaml"),
    WORKERS_EXAMPLE,
];
const WORKERS_EXAMPLE: &str = include_str!("../../../../docs/examples/cluster-api/workers.yaml");
/// What the example's cluster is called.
const EXAMPLE: &str = "demo";
/// What the objects of arbiters are called.
const ARBITERS: &str = "lab-arbiters";
/// The label by which machines of a role are chosen.
const ROLE: &str = "role";

impl Lab {
    /// Starts Cluster API, and describes the cluster and its machines. The providers read the release that the objects name, so that has to
    /// be in the registry.
    pub(in crate::up) fn define_by_cluster_api(&mut self, masters: usize) -> Result<(), LabError> {
        heading("The release, and Cluster API on the hub");
        payload::push(&self.plan, &self.network)?;
        self.start_cluster_api()?;
        heading("The objects of a Cluster");
        let secret = self.plan.dir.join(service::pull_secret(&self.plan.dir, self.image_registry.as_ref())?);
        let secret = std::fs::read_to_string(&secret).map_err(LabError::io(&secret))?;
        let planned: Vec<_> = self.machines.iter().map(|(planned, _)| planned).collect();
        let count = |role: Role| planned.iter().filter(|one| one.role == role && !one.is_late).count();
        let counts = Counts { masters, arbiters: count(Role::Arbiter), workers: count(Role::Worker) };
        let boots = self.plan.cluster_api.unwrap_or(Boots::LiveIso);
        let mut objects = vec![pull_secret(&secret), mirrors()];
        objects.extend(cluster(boots, &counts)?);
        objects.extend(planned.into_iter().flat_map(bare_metal_host));
        self.apply_objects(FILE, &objects)
    }
}

/// The documents of a text.
pub(super) fn documents(text: &str) -> Result<Vec<Value>, LabError> {
    let unread = |error: serde_yaml_ng::Error| LabError::Object {
        object: "a manifest".to_owned(),
        why: error.to_string(),
    };
    serde_yaml_ng::Deserializer::from_str(text).map(|one| Value::deserialize(one).map_err(unread)).collect()
}

/// The lab's registry speaks plain HTTP, which only an entry for mirrors can say.
fn mirrors() -> Value {
    let releases = format!("{REGISTRY}/{RELEASE}");
    let text = format!(
        "[[registry]]\nlocation = \"{releases}\"\ninsecure = true\n[[registry.mirror]]\nlocation = \"{releases}\"\ninsecure = true\n"
    );
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("mirrors"), "data": {"registries.conf": text}})
}

/// How many machines a cluster begins with.
struct Counts {
    masters: usize,
    arbiters: usize,
    workers: usize,
}

/// The example with the lab's names, addresses, release and counts. Arbiters are machines of a second MachineDeployment.
fn cluster(boots: Boots, counts: &Counts) -> Result<Vec<Value>, LabError> {
    let mut objects = Vec::new();
    for text in EXAMPLES {
        objects.extend(documents(&text.replace(EXAMPLE, NAME))?);
    }
    if counts.arbiters > 0 {
        let arbiters = WORKERS_EXAMPLE.replace("demo-workers", ARBITERS).replace(EXAMPLE, NAME);
        objects.extend(documents(&arbiters)?);
    }
    let boot =
        |role: Role| json!({BOOT_METHOD: if boots.live_iso(role) { "live-iso" } else { "disk-image" }});
    let time = json!([GATEWAY.to_string()]);
    for object in &mut objects {
        object["metadata"]["namespace"] = NAME.into();
        let role = match object["metadata"]["name"].as_str().unwrap_or_default() {
            ARBITERS => Role::Arbiter,
            name if name.ends_with("workers") => Role::Worker,
            _ => Role::Master,
        };
        match object["kind"].as_str() {
            Some("OpenshiftAssistedControlPlane") => {
                object["metadata"]["annotations"] =
                    json!({RELEASE_REPOSITORY: format!("{REGISTRY}/{RELEASE}")});
                let spec = &mut object["spec"];
                spec["replicas"] = counts.masters.into();
                spec["distributionVersion"] = payload::VERSION.into();
                let config = &mut spec["config"];
                config["apiVIPs"] = json!([API_VIP.to_string()]);
                config["ingressVIPs"] = json!([INGRESS_VIP.to_string()]);
                if let (1, Value::Object(config)) = (counts.masters, config) {
                    // A single node has its own address alone.
                    config.retain(|member, _| !member.ends_with("VIPs"));
                }
                spec["machineTemplate"]["metadata"] = json!({"annotations": boot(Role::Master)});
                spec["openshiftAssistedConfigSpec"]["additionalNTPSources"] = time.clone();
            }
            Some("OpenshiftAssistedConfigTemplate") => {
                object["spec"]["template"]["metadata"] = json!({"annotations": boot(role)});
                object["spec"]["template"]["spec"]["additionalNTPSources"] = time.clone();
            }
            Some("MachineDeployment") if role == Role::Arbiter => {
                object["spec"]["replicas"] = counts.arbiters.into();
                object["spec"]["template"]["metadata"]["labels"][label::ARBITER] = "".into();
            }
            Some("MachineDeployment") => object["spec"]["replicas"] = counts.workers.into(),
            Some("Metal3MachineTemplate") => {
                object["spec"]["template"]["spec"]["hostSelector"] =
                    json!({"matchLabels": {ROLE: role.name()}});
            }
            _ => {}
        }
    }
    Ok(objects)
}

/// A machine that nobody has asked for yet, and the credentials of its management controller.
fn bare_metal_host(planned: &Planned) -> [Value; 2] {
    let [secret, mut host] = machine(planned);
    host["metadata"]["labels"] = json!({ROLE: planned.role.name()});
    host["metadata"]["annotations"] = json!({"inspect.metal3.io": "disabled"});
    [secret, host]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_becomes_the_lab_s() {
        let objects = cluster(Boots::Both, &Counts { masters: 3, arbiters: 0, workers: 1 }).unwrap();
        let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
        let plane = of("OpenshiftAssistedControlPlane");
        assert_eq!(plane["metadata"]["name"], NAME);
        assert_eq!(plane["spec"]["machineTemplate"]["metadata"]["annotations"][BOOT_METHOD], "live-iso");
        assert_eq!(
            plane["spec"]["openshiftAssistedConfigSpec"]["nodeRegistration"]["name"],
            "$METADATA_NAME"
        );
        let template = &of("OpenshiftAssistedConfigTemplate")["spec"]["template"];
        assert_eq!(template["metadata"]["annotations"][BOOT_METHOD], "disk-image");
        assert_eq!(of("MachineDeployment")["spec"]["replicas"], 1);
        assert_eq!(of("Metal3Cluster")["spec"]["controlPlaneEndpoint"]["host"], "api.lab.example.com");
        let mut roles: Vec<_> = objects
            .iter()
            .filter(|object| object["kind"] == "Metal3MachineTemplate")
            .map(|object| {
                object["spec"]["template"]["spec"]["hostSelector"]["matchLabels"][ROLE].as_str().unwrap()
            })
            .collect();
        roles.sort_unstable();
        assert_eq!(roles, ["master", "worker"]);
        assert!(objects.iter().all(|object| object["metadata"]["namespace"] == NAME));
    }

    #[test]
    fn a_single_node_has_no_vips_and_an_arbiter_a_deployment_of_its_own() {
        let of = |counts: Counts, kind: &str| {
            let objects = cluster(Boots::LiveIso, &counts).unwrap();
            objects.into_iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>()
        };
        let single = Counts { masters: 1, arbiters: 0, workers: 0 };
        let plane = of(single, "OpenshiftAssistedControlPlane").remove(0);
        assert_eq!(
            (&plane["spec"]["replicas"], &plane["spec"]["config"]["apiVIPs"]),
            (&json!(1), &Value::Null)
        );
        let with_arbiter = || Counts { masters: 2, arbiters: 1, workers: 0 };
        let [workers, arbiters] = of(with_arbiter(), "MachineDeployment").try_into().unwrap();
        assert_eq!((&workers["spec"]["replicas"], &arbiters["spec"]["replicas"]), (&json!(0), &json!(1)));
        let template = &arbiters["spec"]["template"];
        assert_eq!(template["metadata"]["labels"][label::ARBITER], "");
        assert_eq!(template["spec"]["bootstrap"]["configRef"]["name"], ARBITERS);
        let templates = of(with_arbiter(), "Metal3MachineTemplate");
        let wanted = &templates[2]["spec"]["template"]["spec"]["hostSelector"]["matchLabels"];
        assert_eq!((&templates[2]["metadata"]["name"], &wanted[ROLE]), (&json!(ARBITERS), &json!("arbiter")));
    }
}
