//! What the controller's logs say of images: the objects and pods that have to do with them. Of configurations nothing is told but the image
//! that they name (ocl-day1 §B13).

use std::collections::BTreeSet;

use assisted_base::error::chain;
use assisted_ocl::builder::redact;
use assisted_ocl::paths::image_machine_config;
use assisted_wire::on_cluster_layering::Pool;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, LogParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Map, Value, json};
use tracing::warn;

use super::{COMPONENT, data};
use crate::cluster::{MACHINE_CONFIG, MACHINE_CONFIG_POOL, MACHINE_OS_BUILD, MACHINE_OS_CONFIG, text};

const NAMESPACE: &str = "openshift-machine-config-operator";
/// Whose logs say how images are taken over and rolled out: how names of pods begin.
const PODS: [&str; 3] = ["machine-os-builder", "machine-config-controller", "machine-config-operator"];
const MOST_PODS: usize = 20;
/// What is taken of a container's log, in bytes.
const LONGEST: i64 = 8 << 20;
/// Whose annotations of nodes say what they run.
const PREFIX: &str = "machineconfiguration.openshift.io/";

/// Files by their names, without secrets; none where nodes boot what the release has.
pub(crate) async fn gather(kube: &Client) -> Vec<(String, Vec<u8>)> {
    let objects = match objects(kube).await {
        Ok(objects) if objects.is_empty() => return Vec::new(),
        Ok(objects) => Value::Object(objects),
        Err(error) => {
            warn!(error = chain(&error), "what is told of images is not in the logs");
            return Vec::new();
        }
    };
    let mut files = vec![("ocl/objects.json".to_owned(), redact(&format!("{objects:#}")).into_bytes())];
    match logs(kube).await {
        Ok(logs) => files.extend(logs),
        Err(error) => files.push(("ocl/pods.txt".to_owned(), chain(&error).into_bytes())),
    }
    files
}

async fn objects(kube: &Client) -> Result<Map<String, Value>, kube::Error> {
    let mut all = Map::new();
    for pool in Pool::ALL.iter().copied() {
        let name = pool.as_str();
        let os_config = data(MACHINE_OS_CONFIG.all(kube).get(name).await).await?;
        let own = image_machine_config(pool);
        let own_config = data(MACHINE_CONFIG.all(kube).get(&own).await).await?;
        if os_config.is_none() && own_config.is_none() {
            continue;
        }
        let state = data(MACHINE_CONFIG_POOL.all(kube).get(name).await).await?.unwrap_or_default();
        let os_config = os_config.unwrap_or_default();
        let build = text(&os_config, "/status/machineOSBuild/name");
        if !build.is_empty()
            && let Some(object) = data(MACHINE_OS_BUILD.all(kube).get(build).await).await?
        {
            all.insert(format!("MachineOSBuild {build}"), object);
        }
        let mut configs = BTreeSet::from([own, format!("{COMPONENT}{name}")]);
        for part in ["/spec/configuration/name", "/status/configuration/name"] {
            configs.insert(text(&state, part).to_owned());
        }
        for config in configs.into_iter().filter(|config| !config.is_empty()) {
            if let Some(object) = data(MACHINE_CONFIG.all(kube).get(&config).await).await? {
                let image = text(&object, "/spec/osImageURL");
                all.insert(format!("MachineConfig {config}"), json!({ "osImageURL": image }));
            }
        }
        all.insert(format!("MachineOSConfig {name}"), os_config);
        all.insert(format!("MachineConfigPool {name}"), state);
    }
    if all.is_empty() {
        return Ok(all);
    }
    for node in Api::<Node>::all(kube.clone()).list(&ListParams::default()).await?.items {
        let told = node.annotations().iter().filter(|(name, _)| name.starts_with(PREFIX));
        let told: Map<String, Value> =
            told.map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        all.insert(format!("Node {}", node.name_any()), told.into());
    }
    Ok(all)
}

async fn logs(kube: &Client) -> Result<Vec<(String, Vec<u8>)>, kube::Error> {
    let pods = Api::<Pod>::namespaced(kube.clone(), NAMESPACE);
    let listed = pods.list(&ListParams::default()).await?.items;
    let told = listed.iter().filter(|pod| PODS.iter().any(|begin| pod.name_any().starts_with(begin)));
    let mut files = Vec::new();
    for pod in told.take(MOST_PODS) {
        let name = pod.name_any();
        for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
            let params = LogParams {
                container: Some(container.name.clone()),
                limit_bytes: Some(LONGEST),
                ..LogParams::default()
            };
            // One that has not started has none.
            let log = pods.logs(&name, &params).await.unwrap_or_else(|error| chain(&error));
            files.push((format!("ocl/pods/{name}_{}.log", container.name), redact(&log).into_bytes()));
        }
    }
    Ok(files)
}
