//! What a user brings for image mode.

use serde_json::{Value, json};

/// A MachineOSConfig that fits. The Secret that it names is `os-image-push`, for `registry.example.com`.
pub fn machine_os_config(pool: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineOSConfig",
        "metadata": {"name": pool},
        "spec": {
            "machineConfigPool": {"name": pool},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": "os-image-push"},
            "renderedImagePushSpec": format!("registry.example.com/acme/os-{pool}:latest"),
            "containerFile": [{"containerfileArch": "NoArch", "content": "FROM configs AS final\nRUN true\n"}],
        },
    })
}

/// The Secret, of one of the two types that registries' credentials have.
pub fn push_secret(kind: &str) -> Value {
    let auths = json!({"registry.example.com": {"auth": "dTpw"}});
    let data = match kind {
        "kubernetes.io/dockercfg" => json!({".dockercfg": auths.to_string()}),
        _ => json!({".dockerconfigjson": json!({"auths": auths}).to_string()}),
    };
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": kind, "stringData": data,
        "metadata": {"name": "os-image-push", "namespace": "openshift-machine-config-operator"},
    })
}
