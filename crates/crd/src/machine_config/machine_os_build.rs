//! MachineOSBuild: one build of an image.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use crate::machine_config::common::{NameReference, ObjectReference};
use crate::resource::resource;

resource! {
    /// One build of the image of a MachineOSConfig.
    MachineOSBuild, "machineconfiguration.openshift.io", "v1", "machineosbuilds", Cluster {
        spec: MachineOSBuildSpec,
        status: MachineOSBuildStatus,
    }
}

/// What is built.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineOSBuildSpec {
    /// Rendered MachineConfig that goes into the image.
    pub machine_config: NameReference,
    /// MachineOSConfig that is built.
    #[serde(rename = "machineOSConfig")]
    pub machine_os_config: NameReference,
    /// Where the built image is pushed to.
    pub rendered_image_push_spec: String,
}

/// How far the build is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineOSBuildStatus {
    /// When the build ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_end: Option<Time>,
    /// When the build began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_start: Option<Time>,
    /// Who builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builder: Option<Builder>,
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Reference by digest of what was pushed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digested_image_push_spec: String,
    /// Objects that belong to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_objects: Vec<ObjectReference>,
}

/// Who builds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Builder {
    /// `Job`.
    pub image_builder_type: String,
    /// Job that builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<ObjectReference>,
}
