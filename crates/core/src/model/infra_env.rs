//! The stored record of an infra-env.

use assisted_wire::infra_env::InfraEnv;
use assisted_wire::secret::Secret;
use serde::{Deserialize, Serialize};

use crate::model::cluster::MirrorRegistry;
use crate::model::object_key::ObjectKey;

/// Whether a number need not be written down.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// An infra-env as it is stored: what the API shows, and what it never shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InfraEnvRecord {
    /// What the API shows.
    pub infra_env: InfraEnv,
    /// The pull secret; the API only shows whether there is one.
    #[serde(default)]
    pub pull_secret: Secret,
    /// Key that signs the URLs of its images; hexadecimal.
    #[serde(default)]
    pub image_token_key: Secret,
    /// Counts the revocations of its tokens: one of an earlier generation is worthless.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub token_generation: u32,
    /// Registries that stand in for others for its hosts, in the place of the service's; `None`: the service's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror_registry: Option<MirrorRegistry>,
    /// Ignition config, as JSON, that the service itself lays over that of the images, below the user's: what metal3 needs in them;
    /// empty: none. With it somebody else starts the agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub internal_ignition: String,
    /// The InfraEnv that describes it; `None`: nobody does in the Kubernetes API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_key: Option<ObjectKey>,
}
