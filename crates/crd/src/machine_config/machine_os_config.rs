//! MachineOSConfig: the image that a pool of nodes is to run.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use crate::machine_config::common::{NameReference, ObjectReference};
use crate::resource::resource;

resource! {
    /// The image that the nodes of a pool are to run, and how it is built.
    MachineOSConfig, "machineconfiguration.openshift.io", "v1", "machineosconfigs", Cluster {
        spec: MachineOSConfigSpec,
        status: MachineOSConfigStatus,
    }
}

/// How the image is built.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineOSConfigSpec {
    /// Secret with the credentials to pull the base image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_image_pull_secret: Option<NameReference>,
    /// Containerfiles, one per architecture at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_file: Vec<Containerfile>,
    /// Who builds.
    pub image_builder: ImageBuilder,
    /// Pool that the image is for.
    pub machine_config_pool: NameReference,
    /// Secret with the credentials to push.
    pub rendered_image_push_secret: NameReference,
    /// Where the built image is pushed to.
    pub rendered_image_push_spec: String,
}

/// A Containerfile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Containerfile {
    /// Architecture: `AMD64`, `ARM64`, `PPC64LE`, `S390X`, or `NoArch` for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub containerfile_arch: String,
    /// Text of the Containerfile, at most 4096 characters.
    pub content: String,
}

/// Who builds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ImageBuilder {
    /// `Job`.
    pub image_builder_type: String,
}

/// What was built.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineOSConfigStatus {
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Reference by digest of the newest image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current_image_pull_spec: String,
    /// Newest build.
    #[serde(rename = "machineOSBuild", skip_serializing_if = "Option::is_none")]
    pub machine_os_build: Option<ObjectReference>,
    /// Generation of the object that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
