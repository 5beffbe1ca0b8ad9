//! MachineConfigs that are there later than the cluster, or changed: each pool's configuration is rendered anew with what they say, and its
//! nodes are told. A pool that has an image of its own keeps it, if its registry gives it out for the credentials by which the MachineOSConfig
//! pushes, which are all that the operator looks with; otherwise the pool waits, since nothing is built here.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_base::hex;
use assisted_base::process::Cmd;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tracing::info;

use super::os_images::{RENDERED, all, put, served};
use crate::files;
use crate::foundation::{MACHINE_CONFIG_NAMESPACE, ROLE};
use crate::machine_config::with_more;

/// Which MachineConfigs a pool's configuration is made of.
const MADE_OF: &str = "lab.example.com/made-of";
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";
const PUSH_SECRET: &str = "/run/lab-push-secret.json";
const INSPECTION: Duration = Duration::from_secs(60);

/// One pass over all pools.
pub async fn roll_out(kube: &Client) -> Result<()> {
    let pools = all(kube, "MachineConfigPool", "machineconfigpools");
    let known = all(kube, "MachineConfig", "machineconfigs").list(&ListParams::default()).await?.items;
    for role in ["master", "worker"] {
        let Some(pool) = pools.get_opt(role).await? else { continue };
        let name = pool.data["spec"]["configuration"]["name"].as_str().unwrap_or_default();
        let Some(rendered) = known.iter().find(|config| config.name_any() == name) else { continue };
        let (parts, made_of) = parts(&known, role);
        match pool.annotations().get(MADE_OF) {
            Some(before) if *before == made_of => {}
            Some(_) => {
                let image = rendered.data["spec"]["osImageURL"].as_str();
                Box::pin(must_be_had(kube, role, image)).await?;
                let digest = Sha256::new_with_prefix(name).chain_update(&made_of).finalize();
                let new = format!("{RENDERED}{role}-{}", hex::encode(&digest[..16]));
                let config = with_more(&served(kube, role).await?, &new, image, &parts)?;
                put(kube, role, &new, &rendered.data["spec"], &config).await?;
                remember(&pools, role, &made_of).await?;
                info!(role, new, "rendered anew, with other MachineConfigs");
                // Nodes are told in the next pass, which finds all of it.
                continue;
            }
            // What came with the installation is rendered already.
            None => remember(&pools, role, &made_of).await?,
        }
        tell_nodes(kube, &pools, &pool, name).await?;
    }
    Ok(())
}

async fn remember(pools: &Api<DynamicObject>, role: &str, made_of: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {MADE_OF: made_of}}}));
    pools.patch(role, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// What the MachineConfigs of a role have for nodes, in the order of their names, and a digest of it.
fn parts(known: &[DynamicObject], role: &str) -> (Vec<Value>, String) {
    let own = known.iter().filter(|config| {
        config.labels().get(ROLE).is_some_and(|of| of == role) && !config.name_any().starts_with(RENDERED)
    });
    let with_config = own.filter(|config| !config.data["spec"]["config"].is_null());
    let sorted: BTreeMap<_, _> =
        with_config.map(|config| (config.name_any(), config.data["spec"]["config"].clone())).collect();
    let digest = Sha256::digest(json!(sorted).to_string());
    (sorted.into_values().collect(), hex::encode(&digest[..16]))
}

/// Fails where a pool's own image can't be had for the credentials of its MachineOSConfig alone.
async fn must_be_had(kube: &Client, role: &str, image: Option<&str>) -> Result<()> {
    let configs = all(kube, "MachineOSConfig", "machineosconfigs");
    let (Some(image), Some(config)) = (image, configs.get_opt(role).await?) else { return Ok(()) };
    if config.data["status"]["currentImagePullSpec"] != image {
        return Ok(());
    }
    let name = config.data["spec"]["renderedImagePushSecret"]["name"].as_str().unwrap_or_default();
    let secret = Api::<Secret>::namespaced(kube.clone(), MACHINE_CONFIG_NAMESPACE).get(name).await?;
    let data = secret.data.unwrap_or_default();
    let ByteString(credentials) = data.get(".dockerconfigjson").context("the secret has no credentials")?;
    files::write(PUSH_SECRET, 0o600, credentials)?;
    let from = format!("docker://{image}");
    let args = ["inspect", "--raw", "--authfile", PUSH_SECRET, &from];
    let output = Cmd::new("skopeo").args(args).timeout(INSPECTION).run().await?;
    if !output.success() {
        bail!("the image of pool {role} can't be looked at with the secret {name}: {}", output.complaint());
    }
    Ok(())
}

/// Has the nodes of a pool take its configuration over; once all have, the pool has it.
async fn tell_nodes(
    kube: &Client,
    pools: &Api<DynamicObject>,
    pool: &DynamicObject,
    name: &str,
) -> Result<()> {
    let role = pool.name_any();
    let nodes = Api::<Node>::all(kube.clone());
    let of_pool = ListParams::default().labels(&format!("node-role.kubernetes.io/{role}"));
    let (params, mut all_have) = (PatchParams::default(), true);
    for node in nodes.list(&of_pool).await?.items {
        let has = |key: &str| node.annotations().get(key).is_some_and(|told| told == name);
        all_have &= has(CURRENT);
        if !has(DESIRED) {
            let patch = Patch::Merge(json!({"metadata": {"annotations": {DESIRED: name}}}));
            nodes.patch(&node.name_any(), &params, &patch).await?;
        }
    }
    if all_have && pool.data["status"]["configuration"]["name"] != name {
        let status = Patch::Merge(json!({"status": {"configuration": {"name": name}}}));
        pools.patch_status(&role, &params, &status).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_is_made_of() {
        let config = |name: &str, role: &str, spec: Value| -> DynamicObject {
            serde_json::from_value(json!({
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
                "metadata": {"name": name, "labels": {ROLE: role}}, "spec": spec,
            }))
            .unwrap()
        };
        let made = json!({"config": {"ignition": {"version": "3.2.0"}}});
        let mut all = vec![
            config("99-b", "master", json!({"config": {"b": 1}})),
            config("98-a", "master", json!({"config": {"a": 1}})),
            config("98-a-worker", "worker", json!({"config": {"w": 1}})),
            config("rendered-master-1", "master", made),
        ];
        let (found, before) = parts(&all, "master");
        assert_eq!(found, [json!({"a": 1}), json!({"b": 1})]);
        // An image is no part of what nodes are given.
        all.push(config(
            "10-prebuiltimage-osimageurl-master",
            "master",
            json!({"osImageURL": "r/i@sha256:00"}),
        ));
        assert_eq!(parts(&all, "master").1, before);
        all[0].data["spec"]["config"]["b"] = json!(2);
        assert_ne!(parts(&all, "master").1, before);
    }
}
