//! Registries that stand in for others for one cluster or infra-env: an addition to the contract, whose requests have no word for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Registries that stand in for others, in the place of the service's; nothing set: those of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "mirror-registry")]
pub struct MirrorRegistry {
    /// Which ones: a `registries.conf`; empty: none.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub registries_conf: String,
    /// Authorities of their certificates, in PEM form; empty: none.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub authorities: String,
}
