//! Clusters whose nodes boot images that are built while they are installed, on machines of namespaces.

use serde_json::json;

use super::{Lab, LabError, NAME, Plan};

const SETTINGS: &str = "image-mode.yaml";
const MANIFEST: &str = "os-images.yaml";
/// Where the cluster would push later builds: nobody is there.
const PUSHED_LATER: &str = "registry.example.com/lab";

/// Fails for machines that can't be installed in image mode.
pub(super) fn must_come(plan: &Plan) -> Result<(), LabError> {
    match plan.containerfile.is_some() && !plan.namespaces {
        true => Err(LabError::OnlyNamespacesInImageMode),
        false => Ok(()),
    }
}

/// The service's settings. Machines of the lab are small; an image is laid onto a disk before its first start in image mode alone, since
/// that takes ostree elsewhere.
pub(super) fn settings(plan: &Plan) -> Vec<(&'static str, &'static str)> {
    match plan.containerfile {
        Some(_) => vec![
            ("ENABLE_SKIP_MCO_REBOOT", "true"),
            ("OCL_PREVIEW", "true"),
            ("OCL_MIN_OPENSHIFT_VERSION", "4.20.0-0"),
            ("OCL_MIN_DISK_GB", "30"),
            ("OCL_MIN_MEMORY_GIB", "2"),
        ],
        None => vec![("ENABLE_SKIP_MCO_REBOOT", "false")],
    }
}

impl Lab {
    /// Asks for images of the cluster's own, as a person does.
    pub(super) fn define_image_mode(&self) -> Result<(), LabError> {
        let Some(containerfile) = &self.plan.containerfile else { return Ok(()) };
        let user = std::fs::read_to_string(containerfile).map_err(LabError::io(containerfile))?;
        let write = |name: &str, text: String| {
            let path = self.plan.dir.join(name);
            std::fs::write(&path, text).map_err(LabError::io(&path))
        };
        // Machines have no disk that could be given a partition.
        let asked = json!({
            "mode": "Enabled", "scratch": "Memory", "workerBuildLocation": "Bootstrap", "buildTimeoutMinutes": 15,
        });
        write(SETTINGS, asked.to_string())?;
        self.cli.show(&["cluster", "update", NAME, "--on-cluster-layering-file", SETTINGS])?;
        let config = |pool: &str| {
            json!({
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineOSConfig", "metadata": {"name": pool},
                "spec": {
                    "machineConfigPool": {"name": pool}, "imageBuilder": {"imageBuilderType": "Job"},
                    "renderedImagePushSecret": {"name": "os-image-push"},
                    "renderedImagePushSpec": format!("{PUSHED_LATER}/os-{pool}:latest"),
                    "containerFile": [{"containerfileArch": "NoArch", "content": user}],
                },
            })
        };
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": "os-image-push", "namespace": "openshift-machine-config-operator"},
            // {"auths":{"registry.example.com":{"auth":"bGFiOmxhYg=="}}}
            "data": {".dockerconfigjson": "eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJhdXRoIjoiYkdGaU9teGhZZz09In19fQ=="},
        });
        let all = [config("master"), config("worker"), secret].map(|object| object.to_string());
        write(MANIFEST, all.join("\n---\n"))?;
        self.cli.show(&["cluster", "manifest", "add", NAME, MANIFEST])
    }
}
