//! Infra-envs: what a discovery image is made from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{ClusterId, InfraEnvId};
use crate::secret::Secret;
use crate::text_enum;
use crate::time::DateTime;
use crate::version::ImageCpuArchitecture;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "image-create-params")]
pub struct ImageCreateParams {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ssh_public_key: String,
    #[serde(default)]
    pub static_network_config: Option<Vec<HostStaticNetworkConfig>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_type: Option<ImageType>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "image_info")]
pub struct ImageInfo {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ssh_public_key: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(range(min = 0))]
    pub size_bytes: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub download_url: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub generator_version: String,
    #[serde(default, with = "crate::time::precise")]
    #[schemars(with = "DateTime")]
    pub created_at: DateTime,
    #[serde(default)]
    pub expires_at: DateTime,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub static_network_config: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<ImageType>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host_static_network_config")]
pub struct HostStaticNetworkConfig {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub network_yaml: String,
    #[serde(default)]
    pub mac_interface_map: Option<MacInterfaceMap>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct MacInterfaceMapItem {
    #[schemars(extend("x-nullable" = false), regex(pattern = r#"^([0-9A-Fa-f]{2}[:]){5}([0-9A-Fa-f]{2})$"#))]
    pub mac_address: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub logical_nic_name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "mac_interface_map")]
pub struct MacInterfaceMap(pub Vec<MacInterfaceMapItem>);

text_enum! {
    #[schemars(rename = "image_type")]
    pub enum ImageType {
        FullIso = "full-iso",
        MinimalIso = "minimal-iso",
        DisconnectedIso = "disconnected-iso",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum KernelArgumentOperation {
        Append = "append",
        Replace = "replace",
        Delete = "delete",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "kernel_argument")]
pub struct KernelArgument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<KernelArgumentOperation>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(regex(pattern = r#"^(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+$"#))]
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "kernel_arguments")]
pub struct KernelArguments(pub Vec<KernelArgument>);

text_enum! {
    #[schemars(inline)]
    pub enum InfraEnvKind {
        InfraEnv = "InfraEnv",
    }
}

/// Settings of a discovery environment: hosts that boot its image register with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "infra-env")]
pub struct InfraEnv {
    pub kind: InfraEnvKind,
    pub id: InfraEnvId,
    pub href: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub openshift_version: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub user_name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub org_id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub email_domain: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub additional_ntp_sources: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ntp_sources: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ssh_authorized_key: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub pull_secret_set: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub static_network_config: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), regex(pattern = crate::pattern::RENDEZVOUS_IP))]
    pub rendezvous_ip: Option<String>,
    pub r#type: ImageType,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ignition_config_override: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(range(min = 0))]
    pub size_bytes: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub download_url: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub generator_version: String,
    #[serde(with = "crate::time::precise")]
    #[schemars(with = "DateTime")]
    pub updated_at: DateTime,
    #[serde(with = "crate::time::precise")]
    #[schemars(with = "DateTime")]
    pub created_at: DateTime,
    #[serde(default)]
    pub expires_at: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = false), extend("default" = "x86_64"))]
    pub cpu_architecture: Option<ImageCpuArchitecture>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub kernel_arguments: Option<String>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("x-nullable" = false))]
    pub additional_trust_bundle: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), range(min = 0), extend("format" = "int64"))]
    pub network_discovery_delay_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "proxy")]
pub struct Proxy {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub http_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub https_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub no_proxy: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "infra-env-list")]
pub struct InfraEnvList(pub Vec<InfraEnv>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "infra-env-create-params")]
pub struct InfraEnvCreateParams {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub additional_ntp_sources: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ntp_sources: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ssh_authorized_key: Option<String>,
    pub pull_secret: Secret,
    #[serde(default)]
    pub static_network_config: Option<Vec<HostStaticNetworkConfig>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), regex(pattern = crate::pattern::RENDEZVOUS_IP))]
    pub rendezvous_ip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_type: Option<ImageType>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ignition_config_override: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub openshift_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = false), extend("default" = "x86_64"))]
    pub cpu_architecture: Option<ImageCpuArchitecture>,
    #[serde(default)]
    pub kernel_arguments: Option<KernelArguments>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("x-nullable" = false), length(max = 65535))]
    pub additional_trust_bundle: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), range(min = 0), extend("format" = "int64"))]
    pub network_discovery_delay_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "infra-env-update-params")]
pub struct InfraEnvUpdateParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub additional_ntp_sources: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ntp_sources: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ssh_authorized_key: Option<String>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub pull_secret: Secret,
    #[serde(default)]
    pub static_network_config: Option<Vec<HostStaticNetworkConfig>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), regex(pattern = crate::pattern::RENDEZVOUS_IP))]
    pub rendezvous_ip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_type: Option<ImageType>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ignition_config_override: String,
    #[serde(default)]
    pub kernel_arguments: Option<KernelArguments>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), length(max = 65535))]
    pub additional_trust_bundle: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub openshift_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), range(min = 0), extend("format" = "int64"))]
    pub network_discovery_delay_seconds: Option<i64>,
}
