//! The image that nodes boot: which it is, by the rules of the machine config operator, and what its controller
//! renders from on a bootstrap host. A release names one; a MachineConfig may name another; a MachineOSConfig that comes with an image makes it the
//! pool's own.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::cluster::{BOOTSTRAP, Cluster, PULL_SECRET, with_release};
use crate::control_plane::parts;
use crate::files;
use crate::foundation::{MACHINE_CONFIG_NAMESPACE, ROLE};
use crate::program::ProgramRuntime;

/// The image with which a MachineOSConfig comes.
pub const BUILT: &str = "machineconfiguration.openshift.io/pre-built-image";
/// What a node of the lab has started from, as it says itself.
pub const BOOTED: &str = "lab.example.com/booted-image";
/// The operator's own MachineConfig for such an image.
pub const COMPONENT: &str = "10-prebuiltimage-osimageurl-";
/// Where the release's own image is told.
const BASE: &str = "machine-config-osimageurl";
const BASE_KEY: &str = "baseOSContainerImage";
/// What the controller renders from.
const INPUT: &str = "/etc/mcc/bootstrap";
/// The folder in it with what configs are made of beside manifests: the controller sees nothing else of the bootstrap host.
pub const OWN: &str = "lab";
const POD: &str = "mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml";
pub const API: &str = "machineconfiguration.openshift.io/v1";

/// The image that a role's nodes boot; `None` where nobody has told of any.
pub fn of(role: &str, manifests: &[Value]) -> Result<Option<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let of_kind = |kind: &'static str| manifests.iter().filter(move |object| object["kind"] == kind);
    let mut named: BTreeMap<String, String> = of_kind("MachineConfig")
        .filter(|object| object["metadata"]["labels"][ROLE] == role)
        .filter_map(|object| Some((text(&object["metadata"]["name"])?, text(&object["spec"]["osImageURL"])?)))
        .collect();
    for object in
        of_kind("MachineOSConfig").filter(|object| object["spec"]["machineConfigPool"]["name"] == role)
    {
        let image = text(&object["metadata"]["annotations"][BUILT]);
        // The real one fails as a whole: it can't build before there is a cluster.
        let image =
            image.with_context(|| format!("MachineOSConfig of pool {role} comes without an image"))?;
        named.insert(format!("{COMPONENT}{role}"), image);
    }
    let base = of_kind("ConfigMap").find(|object| object["metadata"]["name"] == BASE);
    // Of several MachineConfigs the last by name has the say.
    let last = named.into_values().next_back();
    Ok(last.or_else(|| base.and_then(|object| text(&object["data"][BASE_KEY]))))
}

/// What is in the cluster beside a role's rendered configuration: the pool's state, and the operator's own MachineConfig.
pub fn objects(role: &str, rendered: &str, manifests: &[Value]) -> Vec<Value> {
    let mut all = Vec::new();
    if role != "arbiter" {
        all.push(json!({
            "apiVersion": API, "kind": "MachineConfigPool", "metadata": {"name": role},
            "spec": {
                "paused": false, "machineConfigSelector": {"matchLabels": {ROLE: role}},
                "configuration": {"name": rendered},
            },
            "status": {
                "configuration": {"name": rendered},
                "conditions": [{
                    "type": "Updated", "status": "True", "reason": "Lab", "message": "",
                    "lastTransitionTime": jiff::Timestamp::now().to_string(),
                }],
            },
        }));
    }
    let configs = manifests.iter().filter(|object| object["kind"] == "MachineOSConfig");
    for object in configs.filter(|object| object["spec"]["machineConfigPool"]["name"] == role) {
        all.push(json!({
            "apiVersion": API, "kind": "MachineConfig",
            "metadata": {"name": format!("{COMPONENT}{role}"), "labels": {ROLE: role}},
            "spec": {"osImageURL": object["metadata"]["annotations"][BUILT]},
        }));
    }
    all
}

/// Lays out what is rendered on a bootstrap host: the manifests, and which image the release has.
pub async fn prepare(programs: ProgramRuntime) -> Result<()> {
    let cluster = with_release(Cluster::read(BOOTSTRAP)?, programs).await?;
    let own = Path::new(INPUT).join(OWN);
    files::write(Cluster::path(&own), 0o600, cluster.text()?)?;
    for name in parts("master") {
        files::write(own.join(&name), 0o600, files::read(Path::new(BOOTSTRAP).join(&name))?)?;
    }
    match base(&cluster, programs).await {
        Ok(image) => {
            info!(image, "the release's image for nodes");
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": BASE, "namespace": MACHINE_CONFIG_NAMESPACE}, "data": {BASE_KEY: image},
            });
            files::write(format!("{BOOTSTRAP}/manifests/{BASE}.yaml"), 0o644, object.to_string())?;
        }
        // Nodes boot what they were installed with.
        Err(error) => warn!(error = format!("{error:#}"), "the release has no image for nodes"),
    }
    for folder in crate::install::FOLDERS {
        for entry in std::fs::read_dir(Path::new(BOOTSTRAP).join(folder)).into_iter().flatten().flatten() {
            files::write(Path::new(INPUT).join(entry.file_name()), 0o644, files::read(entry.path())?)?;
        }
    }
    let secret = files::read(PULL_SECRET)?;
    files::write(format!("{INPUT}/machineconfigcontroller-pull-secret"), 0o600, secret)?;
    // Nobody runs it: the program that is started next is what it stands for.
    files::write(Path::new(BOOTSTRAP).join(POD), 0o644, "{apiVersion: v1, kind: Pod}\n")
}

async fn base(cluster: &Cluster, programs: ProgramRuntime) -> Result<String> {
    let named = match programs {
        ProgramRuntime::Podman => cluster.images.get("rhel-coreos").cloned(),
        ProgramRuntime::Direct => {
            let path = "release-manifests/image-references";
            let text = crate::host::registry::file(&cluster.release_image, path).await?;
            let references: Value = serde_json::from_str(&text)?;
            let tags = references["spec"]["tags"].as_array().cloned().unwrap_or_default();
            let tag = tags.into_iter().find(|tag| tag["name"] == "rhel-coreos");
            tag.and_then(|tag| tag["from"]["name"].as_str().map(str::to_owned))
        }
    };
    named.context("it is not among the release's images")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str, role: &str, image: &str) -> Value {
        json!({"kind": "MachineConfig", "metadata": {"name": name, "labels": {ROLE: role}}, "spec": {"osImageURL": image}})
    }

    #[test]
    fn which_image_nodes_boot() {
        let base = json!({"kind": "ConfigMap", "metadata": {"name": BASE}, "data": {BASE_KEY: "base"}});
        let mut all = vec![base];
        assert_eq!(of("master", &[]).unwrap(), None);
        assert_eq!(of("master", &all).unwrap().as_deref(), Some("base"));
        all.push(config("09-x", "master", "built"));
        all.push(config("08-y", "master", "other"));
        assert_eq!(of("master", &all).unwrap().as_deref(), Some("built"));
        assert_eq!(of("worker", &all).unwrap().as_deref(), Some("base"));
        let mut own = json!({"kind": "MachineOSConfig", "metadata": {"name": "master"},
            "spec": {"machineConfigPool": {"name": "master"}}});
        all.push(own.clone());
        assert!(of("master", &all).unwrap_err().to_string().contains("without an image"));
        own["metadata"]["annotations"] = json!({BUILT: "seeded"});
        all.pop();
        all.push(own);
        assert_eq!(of("master", &all).unwrap().as_deref(), Some("seeded"));
        assert_eq!(objects("master", "rendered-master-1", &all).len(), 2);
        assert_eq!(objects("arbiter", "rendered-arbiter-1", &all).len(), 0);
    }
}
