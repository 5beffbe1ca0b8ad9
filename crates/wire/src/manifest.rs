//! Custom manifests of a cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_enum;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "list-manifests")]
pub struct ListManifests(pub Vec<Manifest>);

text_enum! {
    #[schemars(inline)]
    pub enum ManifestFolder {
        Manifests = "manifests",
        Openshift = "openshift",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum ManifestSource {
        User = "user",
        System = "system",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "manifest")]
pub struct Manifest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<ManifestFolder>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub file_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_source: Option<ManifestSource>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "create-manifest-params")]
pub struct CreateManifestParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "manifests"))]
    pub folder: Option<ManifestFolder>,
    #[schemars(regex(pattern = crate::pattern::MANIFEST_FILE))]
    pub file_name: String,
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "update-manifest-params")]
pub struct UpdateManifestParams {
    #[schemars(extend("x-nullable" = false), extend("default" = "manifests"))]
    pub folder: ManifestFolder,
    #[schemars(extend("x-nullable" = false), regex(pattern = crate::pattern::MANIFEST_FILE))]
    pub file_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("default" = "manifests"))]
    pub updated_folder: Option<ManifestFolder>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), regex(pattern = crate::pattern::MANIFEST_FILE))]
    pub updated_file_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub updated_content: Option<String>,
}
