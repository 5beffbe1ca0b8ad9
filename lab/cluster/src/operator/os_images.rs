//! Images that come with a MachineOSConfig become the pool's own: its status names the image, the annotation goes, and each node that
//! has started from it says so. Nothing is built here: what comes without an image stays as it is.

use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tracing::info;

use crate::os_image::{BOOTED, BUILT};

const PREFIX: &str = "machineconfiguration.openshift.io/";

/// One pass over all pools.
pub async fn seed(kube: &Client) -> Result<()> {
    let kind = GroupVersionKind::gvk("machineconfiguration.openshift.io", "v1", "MachineOSConfig");
    let resource = ApiResource::from_gvk_with_plural(&kind, "machineosconfigs");
    let configs = Api::<DynamicObject>::all_with(kube.clone(), &resource);
    for config in configs.list(&ListParams::default()).await?.items {
        let name = config.name_any();
        let image = match seeded(&config.data) {
            Some(image) => image,
            None => {
                let Some(image) = config.annotations().get(BUILT).cloned() else { continue };
                let status = json!({"status": {
                    "currentImagePullSpec": image, "observedGeneration": config.metadata.generation.unwrap_or(1),
                    "conditions": [{
                        "type": "Seeded", "status": "True", "reason": "PreBuiltImageSeeded", "message": "the image is the pool's own",
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
