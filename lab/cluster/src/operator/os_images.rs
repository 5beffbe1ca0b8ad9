//! Images that come with a MachineOSConfig become the pool's own: a MachineOSBuild stands for the build that was made elsewhere, the status names
//! the image, the annotation goes, and each node that has started from it says so. A MachineConfig that names another image than the pool's
//! configuration does makes it a new one. Nothing is built here: what comes without an image stays as it is.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assisted_base::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tracing::info;

use crate::foundation::{MACHINE_CONFIG_NAMESPACE, ROLE};
use crate::machine_config::{SECRET, with_image};
use crate::os_image::{API, BOOTED, BUILT, COMPONENT};

const GROUP: &str = "machineconfiguration.openshift.io";
const PREFIX: &str = "machineconfiguration.openshift.io/";
/// Why an image is the pool's own, and its build over.
const SEEDED: &str = "PreBuiltImageSeeded";
pub(super) const RENDERED: &str = "rendered-";

pub(super) fn all(kube: &Client, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, "v1", kind);
    Api::all_with(kube.clone(), &ApiResource::from_gvk_with_plural(&kind, plural))
}

/// One pass over all pools: where MachineConfigs name another image than a pool's configuration does, the pool gets a new one.
pub async fn render(kube: &Client) -> Result<()> {
    let configs = all(kube, "MachineConfig", "machineconfigs");
    let pools = all(kube, "MachineConfigPool", "machineconfigpools");
    let known = configs.list(&ListParams::default()).await?.items;
    for role in ["master", "worker"] {
        let Some(image) = named(&known, role) else { continue };
        let Some(pool) = pools.get_opt(role).await? else { continue };
        let name = pool.data["spec"]["configuration"]["name"].as_str().unwrap_or_default();
        let Some(rendered) = known.iter().find(|config| config.name_any() == name) else { continue };
        if rendered.data["spec"]["osImageURL"] == image.as_str() {
            continue;
        }
        let digest = Sha256::new_with_prefix(name).chain_update(&image).finalize();
        let new = format!("{RENDERED}{role}-{}", hex::encode(&digest[..16]));
        let mut spec = rendered.data["spec"].clone();
        spec["osImageURL"] = json!(image);
        let config = with_image(&served(kube, role).await?, &new, &image)?;
        put(kube, role, &new, &spec, &config).await?;
        let status = json!({"status": {"configuration": {"name": new}}});
        pools.patch_status(role, &PatchParams::default(), &Patch::Merge(status)).await?;
        info!(role, new, image, "rendered anew");
    }
    Ok(())
}

/// The config that a role's machines are given.
pub(super) async fn served(kube: &Client, role: &str) -> Result<Vec<u8>> {
    let secrets = Api::<Secret>::namespaced(kube.clone(), MACHINE_CONFIG_NAMESPACE);
    let mut data = secrets.get(SECRET).await?.data.unwrap_or_default();
    let ByteString(config) = data.remove(role).context("no config is served for the pool")?;
    Ok(config)
}

/// Makes a configuration the one that a pool is to have: it is there, it is served, and then the pool names it.
pub(super) async fn put(kube: &Client, role: &str, name: &str, spec: &Value, config: &[u8]) -> Result<()> {
    let object = json!({
        "apiVersion": API, "kind": "MachineConfig", "metadata": {"name": name, "labels": {ROLE: role}}, "spec": spec,
    });
    create(&all(kube, "MachineConfig", "machineconfigs"), object).await?;
    // Whoever is told of it by the pool finds it served.
    let secrets = Api::<Secret>::namespaced(kube.clone(), MACHINE_CONFIG_NAMESPACE);
    let patch = Patch::Merge(json!({"data": {role: STANDARD.encode(config)}}));
    secrets.patch(SECRET, &PatchParams::default(), &patch).await?;
    let spec = Patch::Merge(json!({"spec": {"configuration": {"name": name}}}));
    all(kube, "MachineConfigPool", "machineconfigpools").patch(role, &PatchParams::default(), &spec).await?;
    Ok(())
}

/// The image that a role's MachineConfigs name: the last one by its name has the say.
fn named(configs: &[DynamicObject], role: &str) -> Option<String> {
    let own = configs.iter().filter(|config| {
        config.labels().get(ROLE).is_some_and(|of| of == role) && !config.name_any().starts_with(RENDERED)
    });
    let images = own.filter_map(|config| {
        Some((config.name_any(), config.data["spec"]["osImageURL"].as_str()?.to_owned()))
    });
    images.collect::<BTreeMap<_, _>>().into_values().next_back()
}

/// Creates an object, unless it is there.
async fn create(objects: &Api<DynamicObject>, object: Value) -> Result<()> {
    match objects.create(&PostParams::default(), &serde_json::from_value(object)?).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => Ok(made.map(drop)?),
    }
}

/// One pass over all pools.
pub async fn seed(kube: &Client) -> Result<()> {
    let configs = all(kube, "MachineOSConfig", "machineosconfigs");
    for config in configs.list(&ListParams::default()).await?.items {
        let name = config.name_any();
        let image = match seeded(&config.data) {
            Some(image) => image,
            None => {
                let Some(image) = config.annotations().get(BUILT).cloned() else { continue };
                let pool = config.data["spec"]["machineConfigPool"]["name"].as_str().unwrap_or_default();
                let own = json!({
                    "apiVersion": API, "kind": "MachineConfig",
                    "metadata": {"name": format!("{COMPONENT}{pool}"), "labels": {ROLE: pool}},
                    "spec": {"osImageURL": image},
                });
                create(&all(kube, "MachineConfig", "machineconfigs"), own).await?;
                let build = Box::pin(stand_for_build(kube, &config, pool, &image)).await?;
                let current = json!({"metadata": {"annotations": {format!("{PREFIX}current-machine-os-build"): build}}});
                configs.patch(&name, &PatchParams::default(), &Patch::Merge(current)).await?;
                let status = json!({"status": {
                    "currentImagePullSpec": image, "observedGeneration": config.metadata.generation.unwrap_or(1),
                    "machineOSBuild": {"group": GROUP, "resource": "machineosbuilds", "name": build},
                    "conditions": [{
                        "type": "Seeded", "status": "True", "reason": SEEDED, "message": "the image is the pool's own",
                        "lastTransitionTime": Timestamp::now().to_string(),
                    }],
                }});
                configs.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
                info!(pool = name, image, "seeded");
                image
            }
        };
        if config.annotations().contains_key(BUILT) {
            let gone = json!({"metadata": {"annotations": {BUILT: null}}});
            configs.patch(&name, &PatchParams::default(), &Patch::Merge(gone)).await?;
        }
        let pool = config.data["spec"]["machineConfigPool"]["name"].as_str().unwrap_or_default();
        tell_nodes(kube, pool, &image).await?;
    }
    Ok(())
}

/// Makes the build that stands for the image with which a MachineOSConfig came: nobody builds it here. It is the one of the configuration that the
/// pool has now. Gives its name.
async fn stand_for_build(kube: &Client, config: &DynamicObject, pool: &str, image: &str) -> Result<String> {
    let state = all(kube, "MachineConfigPool", "machineconfigpools").get(pool).await?;
    let configuration = &state.data["spec"]["configuration"];
    let rendered = configuration["name"].as_str().context("the pool has no configuration yet")?;
    let (of, spec) = (config.name_any(), &config.data["spec"]);
    let hash = Sha256::new_with_prefix(configuration.to_string()).chain_update(spec.to_string());
    let digest = hash.chain_update(image).finalize();
    let name = format!("{of}-{}", hex::encode(&digest[..16]));
    let key = |what: &str| format!("{PREFIX}{what}");
    let object = json!({
        "apiVersion": API, "kind": "MachineOSBuild",
        "metadata": {
            "name": name,
            "labels": {
                key("pre-built-image"): "true", key("target-machine-config-pool"): pool,
                key("rendered-machine-config"): rendered, key("machine-os-config"): of,
            },
            "annotations": {key("rendered-image-push-secret"): spec["renderedImagePushSecret"]["name"]},
            "ownerReferences": [{
                "apiVersion": API, "kind": "MachineOSConfig", "name": of, "uid": config.metadata.uid, "controller": true,
            }],
        },
        "spec": {
            "machineConfig": {"name": rendered}, "machineOSConfig": {"name": of},
            "renderedImagePushSpec": spec["renderedImagePushSpec"],
        },
    });
    let builds = all(kube, "MachineOSBuild", "machineosbuilds");
    create(&builds, object).await?;
    // What an earlier pass has told of it stays: a build that has ended does not change.
    if builds.get(&name).await?.data["status"]["buildEnd"].is_string() {
        return Ok(name);
    }
    let now = Timestamp::now().as_second();
    let (start, end) = (Timestamp::from_second(now)?, Timestamp::from_second(now + 1)?);
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": if kind == "Succeeded" { "True" } else { "False" }, "reason": SEEDED,
            "message": "the image was built while the cluster was installed", "lastTransitionTime": start.to_string(),
        })
    };
    let status = json!({"status": {
        "buildStart": start.to_string(), "buildEnd": end.to_string(), "digestedImagePushSpec": image,
        "conditions": (["Prepared", "Building", "Failed", "Interrupted", "Succeeded"].map(condition)),
    }});
    builds.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(name)
}

fn seeded(config: &Value) -> Option<String> {
    let conditions = config["status"]["conditions"].as_array()?;
    let holds =
        conditions.iter().any(|condition| condition["type"] == "Seeded" && condition["status"] == "True");
    holds.then(|| config["status"]["currentImagePullSpec"].as_str().map(str::to_owned))?
}

/// Nodes of a pool are in its image once they have started from it.
async fn tell_nodes(kube: &Client, pool: &str, image: &str) -> Result<()> {
    let nodes = Api::<Node>::all(kube.clone());
    let of_pool = ListParams::default().labels(&format!("node-role.kubernetes.io/{pool}"));
    for node in nodes.list(&of_pool).await?.items {
        let told = |name: &str| node.annotations().get(&format!("{PREFIX}{name}")).map(String::as_str);
        let is_in = node.annotations().get(BOOTED).is_some_and(|booted| booted == image);
        let current = if is_in { image } else { "" };
        if told("desiredImage") == Some(image) && told("currentImage").unwrap_or_default() == current {
            continue;
        }
        let mut annotations = json!({format!("{PREFIX}desiredImage"): image});
        if is_in {
            annotations[format!("{PREFIX}currentImage")] = json!(image);
        }
        let patch = json!({"metadata": {"annotations": annotations}});
        nodes.patch(&node.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await?;
    }
    Ok(())
}
