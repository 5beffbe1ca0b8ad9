//! What is kept with a cluster about image mode at installation: what of its manifests matters, and how its images are
//! (ocl-day1 §B3, §B11).

use std::collections::BTreeMap;

use assisted_wire::on_cluster_layering::{
    BuildState, LayeringBuild, LayeringErrorCode, LayeringHost, LayeringSettings,
};
use assisted_wire::secret::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is kept of image mode with a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayeringRecord {
    /// By file, `<folder>/<name>`: what of a user's manifests matters. A file with nothing of it is not there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub manifests: BTreeMap<String, Vec<ManifestObject>>,
    /// The images of this installation, once it was prepared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<LayeringBuild>,
    /// What hosts do about their images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<LayeringHost>,
    /// What is asked for beside the install config, without the secret; a Containerfile may hold what its author put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<LayeringSettings>>,
    /// Credentials of MachineOSConfigs that are made; empty: none were given.
    #[serde(default, skip_serializing_if = "Secret::is_empty")]
    pub push_secret: Secret,
}

impl LayeringRecord {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every object of the user's manifests that matters, with its file.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &ManifestObject)> {
        self.manifests
            .iter()
            .flat_map(|(file, objects)| objects.iter().map(move |object| (file.as_str(), object)))
    }
}

/// What of images makes an installation fail, if one of them does: the text that users see (ocl-day1 §B12).
pub fn failure(builds: &[LayeringBuild]) -> Option<String> {
    let failed = builds.iter().find(|build| build.state == BuildState::Failed)?;
    let why = failed.error.as_deref().unwrap_or("no reason was given");
    Some(format!("OS image build failed for pool {}: {why}", failed.pool))
}

/// Whether a node boots another image than that of its pool.
pub fn is_other_booted(builds: &[LayeringBuild]) -> bool {
    builds
        .iter()
        .any(|build| build.state == BuildState::Failed && build.error_code == Some(LayeringErrorCode::Boot))
}

/// An object in a manifest, as far as image mode asks for it. Of secrets, only what they open is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ManifestObject {
    /// A MachineOSConfig; its Containerfile may hold what its author put there, but no credential of a registry.
    MachineOsConfig(Value),
    /// Credentials of registries.
    RegistrySecret {
        name: String,
        /// The registries that they open; `None`: they can't be read.
        registries: Option<Vec<String>>,
    },
    /// A secret of the same namespace that holds no such credentials.
    OtherSecret { name: String, r#type: String },
    /// A MachineConfig that decides on what the image brings.
    MachineConfig {
        name: String,
        role: String,
        /// Which of its fields do.
        fields: Vec<String>,
    },
    /// A MachineConfigPool that names a stream of images.
    ImageStreamPool { name: String },
    /// A ContainerRuntimeConfig that has containers run by `runc`, and the pools that it is for.
    RuncRuntime { name: String, pools: Vec<String> },
    /// A policy that asks for signatures of images, and of which.
    ImagePolicy { name: String, scopes: Vec<String> },
}
