//! MachineOSConfigs that are made where the user brings none (ocl-day1 §B3.3). The switch for it is in the service's hands.

use assisted_wire::on_cluster_layering::Pool;
use assisted_wire::secret::Secret;
use serde_json::{Value, json};

use super::NAMESPACE;
use super::machine_os_config::KIND;
use super::settings::OnClusterLayering;

/// The Secret with which generated ones push.
pub const PUSH_SECRET: &str = "ocl-registry-push";
/// What makes the image of a pool for which nothing is asked.
const PLAIN: &str = "FROM configs AS final";

/// The Secret of that name, from the docker config that was given for it. It is secret.
pub fn push_secret(config: &Secret) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": PUSH_SECRET, "namespace": NAMESPACE},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": config.expose()},
    })
}

/// The MachineOSConfig of a pool; the same each time.
pub fn machine_os_config(settings: &OnClusterLayering, pool: Pool) -> Value {
    let asked = settings
        .pools
        .iter()
        .find(|file| file.name == pool.as_str())
        .map(|file| file.container_file.as_str());
    let content = asked.filter(|text| !text.trim().is_empty()).unwrap_or(PLAIN);
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": KIND,
        "metadata": {"name": pool},
        "spec": {
            "machineConfigPool": {"name": pool},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": PUSH_SECRET},
            "renderedImagePushSpec": format!("{}-{pool}:latest", settings.push_repository()),
            "containerFile": [{"containerfileArch": "NoArch", "content": content}],
        },
    })
}
