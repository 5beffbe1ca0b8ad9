//! OpenShift versions, release images and OS images.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster_options::CpuArchitecture;
use crate::secret::Secret;
use crate::text_enum;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "list-versions")]
pub struct ListVersions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub release_tag: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "versions")]
pub struct Versions(pub BTreeMap<String, String>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "openshift-versions")]
pub struct OpenshiftVersions(pub BTreeMap<String, OpenshiftVersion>);

text_enum! {
    #[schemars(inline)]
    pub enum VersionSupportLevel {
        Beta = "beta",
        Production = "production",
        Maintenance = "maintenance",
        EndOfLife = "end-of-life",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "openshift-version", extend("required" = ["cpu_architectures", "display_name", "support_level"]))]
pub struct OpenshiftVersion {
    pub display_name: String,
    pub support_level: VersionSupportLevel,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub default: bool,
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub cpu_architectures: Vec<String>,
}

text_enum! {
    #[schemars(inline)]
    pub enum ImageCpuArchitecture {
        X8664 = "x86_64",
        Aarch64 = "aarch64",
        Arm64 = "arm64",
        Ppc64le = "ppc64le",
        S390x = "s390x",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "os-image")]
pub struct OsImage {
    pub openshift_version: String,
    #[schemars(extend("default" = "x86_64"))]
    pub cpu_architecture: ImageCpuArchitecture,
    pub url: String,
    pub version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "os-images")]
pub struct OsImages(pub Vec<OsImage>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "release-image")]
pub struct ReleaseImage {
    pub openshift_version: String,
    #[schemars(extend("default" = "x86_64"))]
    pub cpu_architecture: CpuArchitecture,
    #[serde(default)]
    pub cpu_architectures: Option<Vec<String>>,
    pub url: String,
    pub version: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub default: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_level: Option<VersionSupportLevel>,
}

/// A release whose image is to be read. An addition to the contract.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "release-image-params")]
pub struct ReleaseImageParams {
    /// The image, as it would be pulled.
    pub url: String,
    /// Credentials of its registry.
    pub pull_secret: Secret,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "release-images")]
pub struct ReleaseImages(pub Vec<ReleaseImage>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "release-source", extend("required" = ["multi_cpu_architectures", "openshift_version", "upgrade_channels"]))]
pub struct ReleaseSource {
    pub openshift_version: String,
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub multi_cpu_architectures: Vec<ImageCpuArchitecture>,
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub upgrade_channels: Vec<UpgradeChannel>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "release-sources")]
pub struct ReleaseSources(pub Vec<ReleaseSource>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "upgrade-channel", extend("required" = ["channels", "cpu_architecture"]))]
pub struct UpgradeChannel {
    pub cpu_architecture: CpuArchitecture,
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub channels: Vec<ReleaseChannel>,
}

text_enum! {
    #[schemars(rename = "release-channel")]
    pub enum ReleaseChannel {
        Candidate = "candidate",
        Fast = "fast",
        Stable = "stable",
        Eus = "eus",
    }
}
