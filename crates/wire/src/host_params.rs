//! Bodies of the operations on hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{ClusterId, HostId};
use crate::secret::Secret;
use crate::text_enum;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host-create-params")]
pub struct HostCreateParams {
    pub host_id: HostId,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub discovery_agent_version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "installer-args-params")]
pub struct InstallerArgsParams {
    #[serde(default)]
    pub args: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host-update-params")]
pub struct HostUpdateParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub host_role: Option<HostRoleUpdateParams>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub host_name: Option<String>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub disks_selected_config: Option<Vec<DiskConfigParams>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub disks_skip_formatting: Option<Vec<DiskSkipFormattingParams>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub machine_config_pool_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ignition_endpoint_token: Option<Secret>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub ignition_endpoint_http_headers: Option<Vec<IgnitionEndpointHttpHeadersParams>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub node_labels: Option<Vec<NodeLabelParams>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub fencing_credentials: Option<FencingCredentialsParams>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disk-config-params")]
pub struct DiskConfigParams {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<DiskRole>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disk-skip-formatting-params")]
pub struct DiskSkipFormattingParams {
    pub disk_id: String,
    pub skip_formatting: bool,
}

text_enum! {
    #[schemars(rename = "disk-role")]
    pub enum DiskRole {
        None = "none",
        Install = "install",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ignition-endpoint-http-headers-params")]
pub struct IgnitionEndpointHttpHeadersParams {
    pub key: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "node-label-params")]
pub struct NodeLabelParams {
    pub key: String,
    pub value: String,
}

text_enum! {
    #[schemars(inline)]
    pub enum CertificateVerification {
        Enabled = "Enabled",
        Disabled = "Disabled",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "fencing-credentials-params")]
pub struct FencingCredentialsParams {
    pub address: String,
    pub username: String,
    pub password: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Enabled"))]
    pub certificate_verification: Option<CertificateVerification>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub mac_address: Option<String>,
}

text_enum! {
    #[schemars(rename = "host-role-update-params")]
    pub enum HostRoleUpdateParams {
        AutoAssign = "auto-assign",
        Master = "master",
        Arbiter = "arbiter",
        Worker = "worker",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host-ignition-params")]
pub struct HostIgnitionParams {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub config: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "bind-host-params")]
pub struct BindHostParams {
    pub cluster_id: ClusterId,
}
