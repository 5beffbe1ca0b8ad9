//! Whether a discovery image can be downloaded: an addition to the contract, whose image addresses answer an error until the
//! image service has the base image.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_enum;

text_enum! {
    /// What a download would begin with now.
    ///
    /// * `ready`: the image.
    /// * `waiting`: a request to come back, because the base image is on its way.
    /// * `failed`: an error that waiting does not mend.
    /// * `unknown`: the service can't ask the image service.
    #[schemars(inline)]
    pub enum ImageReadiness {
        Ready = "ready",
        Waiting = "waiting",
        Failed = "failed",
        Unknown = "unknown",
    }
}

/// The state of an infra-env's discovery image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "image-state")]
pub struct ImageState {
    pub state: ImageReadiness,
    /// What the image service says, for people; empty when the image is ready.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub message: String,
    /// Why the base image could not be fetched the last time; left out while it is on its way. It is tried again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Bytes of the base image that have arrived; left out when the image service doesn't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<i64>,
    /// Bytes of the whole base image; left out while nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<i64>,
    /// Seconds after which to ask again; left out when there is no need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<i64>,
}
