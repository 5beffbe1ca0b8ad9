//! The objects of a hub that describe the lab's cluster and its machines.

use serde_json::{Value, json};

use super::hub::OF_METAL3;
use super::topology::{Kind, Planned, Role};
use super::{DOMAIN, Flow, Lab, LabError, NAME, Plan, heading, ironic, payload, service};
use crate::network::{API_VIP, GATEWAY, INGRESS_VIP, REGISTRY};
use crate::release::ironic_agent;

/// Names of objects.
pub(super) const PULL_SECRET: &str = "pull-secret";
const RELEASE: &str = "release";
/// The file with all objects, in the lab's folder.
pub(super) const FILE: &str = "manifests.json";

impl Lab {
    /// Describes the cluster, its infra-env and its machines. The service reads the release that the objects name, so that has
    /// to be in the registry.
    pub(super) fn define_by_manifests(&self, masters: usize) -> Result<(), LabError> {
        heading("The release, and the objects of the hub");
        let pushed = payload::push(&self.plan, &self.network)?;
        let secret = self.plan.dir.join(service::pull_secret(&self.plan.dir, self.image_registry.as_ref())?);
        let secret = std::fs::read_to_string(&secret).map_err(LabError::io(&secret))?;
        let planned: Vec<_> = self.machines.iter().map(|(planned, _)| planned).collect();
        let mut objects = cluster(&planned, masters, &pushed.release);
        objects.extend([infra_env(&self.plan), pull_secret(&secret)]);
        objects.extend(planned.into_iter().flat_map(machine));
        if self.plan.hub == Some(Flow::Converged) {
            objects.push(customization());
            // The service says nothing about that in this flow.
            let machines = objects.iter_mut().filter(|object| object["kind"] == "BareMetalHost");
            machines.for_each(|machine| machine["spec"]["online"] = true.into());
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        super::write_secret(&self.plan.dir.join(FILE), &format!("{list:#}\n"))?;
        self.show_hub(&["apply", "--filename", FILE])
    }
}

/// Where the service learns where Ironic is, and the image of its agent.
fn customization() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "metal3-image-customization-config", "namespace": OF_METAL3},
        "stringData": {
            "IRONIC_BASE_URL": ironic::URL, "IRONIC_INSPECTOR_BASE_URL": ironic::URL,
            "IRONIC_AGENT_IMAGE": ironic_agent(REGISTRY),
        },
    })
}

pub(super) fn metadata(name: &str) -> Value {
    json!({"name": name, "namespace": NAME})
}

fn cluster(machines: &[&Planned], masters: usize, release: &str) -> Vec<Value> {
    let of_role = |role: Role| machines.iter().filter(|machine| machine.role == role).count();
    let mut networking = json!({
        "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}], "serviceNetwork": ["172.30.0.0/16"],
    });
    let mut install = json!({
        "clusterDeploymentRef": {"name": NAME}, "imageSetRef": {"name": RELEASE},
        "provisionRequirements": {
            "controlPlaneAgents": masters, "arbiterAgents": of_role(Role::Arbiter), "workerAgents": of_role(Role::Worker),
        },
    });
    if masters == 1 {
        networking["machineNetwork"] = json!([{"cidr": "192.168.126.0/24"}]);
        networking["userManagedNetworking"] = true.into();
    } else {
        install["apiVIPs"] = json!([API_VIP.to_string()]);
        install["ingressVIPs"] = json!([INGRESS_VIP.to_string()]);
    }
    install["networking"] = networking;
    let reference = json!({"group": "extensions.hive.openshift.io", "version": "v1beta1", "kind": "AgentClusterInstall", "name": NAME});
    vec![
        json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterImageSet", "metadata": {"name": RELEASE},
            "spec": {"releaseImage": release},
        }),
        json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment", "metadata": metadata(NAME),
            "spec": {
                "clusterName": NAME, "baseDomain": DOMAIN, "pullSecretRef": {"name": PULL_SECRET},
                "platform": {"agentBareMetal": {"agentSelector": {}}}, "clusterInstallRef": reference,
            },
        }),
        json!({
            "apiVersion": "extensions.hive.openshift.io/v1beta1", "kind": "AgentClusterInstall", "metadata": metadata(NAME),
            "spec": install,
        }),
    ]
}

fn infra_env(plan: &Plan) -> Value {
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv", "metadata": metadata(NAME),
        "spec": {
            "clusterRef": {"name": NAME, "namespace": NAME}, "pullSecretRef": {"name": PULL_SECRET},
            "additionalNTPSources": [GATEWAY.to_string()], "cpuArchitecture": "x86_64",
            "imageType": if plan.minimal { "minimal-iso" } else { "full-iso" },
        },
    })
}

pub(super) fn pull_secret(text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata(PULL_SECRET), "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": text},
    })
}

/// A machine, and the credentials of its management controller.
pub(super) fn machine(planned: &Planned) -> [Value; 2] {
    let name = &planned.name;
    let credentials = format!("{name}-bmc");
    let system = match &planned.kind {
        Kind::Real(controller) => controller.system.clone(),
        // There is none: the lab switches the machine on.
        _ => format!("https://{GATEWAY}/redfish/v1/Systems/{name}"),
    };
    let mut described = metadata(name);
    described["labels"] = json!({"infraenvs.agent-install.openshift.io": NAME});
    described["annotations"] = json!({
        "bmac.agent-install.openshift.io/hostname": name, "bmac.agent-install.openshift.io/role": planned.role.name(),
    });
    [
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata(&credentials),
            "stringData": {"username": "admin", "password": "admin"},
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": described,
            "spec": {
                "online": false, "bootMACAddress": planned.mac,
                "bmc": {
                    "address": format!("redfish-virtualmedia+{system}"),
                    "credentialsName": credentials,
                },
            },
        }),
    ]
}
