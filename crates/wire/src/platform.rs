//! The platform that a cluster is installed on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_enum;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "platform")]
pub struct Platform {
    pub r#type: PlatformType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub external: Option<PlatformExternal>,
}

text_enum! {
    #[schemars(rename = "platform_type")]
    pub enum PlatformType {
        Baremetal = "baremetal",
        Nutanix = "nutanix",
        Vsphere = "vsphere",
        None = "none",
        External = "external",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum CloudControllerManager {
        Empty = "",
        External = "External",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "platform_external")]
pub struct PlatformExternal {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), length(min = 1))]
    pub platform_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("default" = ""))]
    pub cloud_controller_manager: Option<CloudControllerManager>,
}
