//! Metal3Machine: what of it is read and written.

use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// A machine of metal3's infrastructure. Only the fields that are read and written here.
    Metal3Machine, "infrastructure.cluster.x-k8s.io", "v1beta1", "metal3machines", Namespaced {
        spec: Metal3MachineSpec,
    }
}

/// The machine as it is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metal3MachineSpec {
    /// What is written to its disk, or booted (`live-iso`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<MachineImage>,
}

/// What is written to a disk, or booted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineImage {
    /// Checksum, or where it is; required by the schema, and of no use for an ISO.
    pub checksum: String,
    /// `md5`, `sha256` or `sha512`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum_type: String,
    /// `live-iso` is booted, everything else written to the disk.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub format: String,
    pub url: String,
}

impl MachineImage {
    /// An ISO that is booted.
    pub fn live_iso(url: &str) -> Self {
        Self { url: url.to_owned(), format: "live-iso".to_owned(), ..Self::default() }
    }
}
