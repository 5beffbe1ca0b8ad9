//! Bodies of the operations on clusters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::cluster::{DiskEncryption, FinalizingStage, IgnitionEndpoint, LogsState};
pub use crate::cluster_options::{CpuArchitecture, HighAvailabilityMode, NetworkType, RoleSet};
use crate::network::{ApiVip, ClusterNetwork, IngressVip, LoadBalancer, MachineNetwork, ServiceNetwork};
use crate::on_cluster_layering::LayeringSettings;
use crate::operator::{BundleCreateParams, OperatorCreateParams};
use crate::platform::Platform;
use crate::secret::Secret;
use crate::time::DateTime;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ignored-validations")]
pub struct IgnoredValidations {
    #[serde(rename = "cluster-validation-ids", default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("format" = "string"))]
    pub cluster_validation_ids: String,
    #[serde(rename = "host-validation-ids", default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("format" = "string"))]
    pub host_validation_ids: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster-create-params")]
pub struct ClusterCreateParams {
    #[schemars(length(min = 1, max = 54))]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Full"))]
    pub high_availability_mode: Option<HighAvailabilityMode>,
    pub openshift_version: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ocp_release_image: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub base_dns_domain: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("default" = "10.128.0.0/14"), regex(pattern = crate::pattern::SUBNET))]
    pub cluster_network_cidr: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("default" = 23), range(min = 1, max = 128))]
    pub cluster_network_host_prefix: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("default" = "172.30.0.0/16"), regex(pattern = crate::pattern::SUBNET))]
    pub service_network_cidr: String,
    #[serde(default)]
    pub api_vips: Option<Vec<ApiVip>>,
    #[serde(default)]
    pub ingress_vips: Option<Vec<IngressVip>>,
    pub pull_secret: Secret,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ssh_public_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("default" = false))]
    pub vip_dhcp_allocation: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub http_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub https_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub no_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("default" = false))]
    pub user_managed_networking: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub additional_ntp_source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ntp_sources: Option<String>,
    #[serde(default)]
    pub olm_operators: Option<Vec<OperatorCreateParams>>,
    #[serde(default)]
    pub operator_bundles: Option<Vec<BundleCreateParams>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "all"))]
    pub hyperthreading: Option<RoleSet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub network_type: Option<NetworkType>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("default" = false))]
    pub schedulable_masters: bool,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub cluster_networks: Option<Vec<ClusterNetwork>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub service_networks: Option<Vec<ServiceNetwork>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub machine_networks: Option<Vec<MachineNetwork>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = false), extend("default" = "x86_64"))]
    pub cpu_architecture: Option<CpuArchitecture>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_encryption: Option<DiskEncryption>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<IgnitionEndpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub tags: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub control_plane_count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    /// Image mode at installation, as the install config asks for it. An addition to the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub on_cluster_layering: Option<Box<LayeringSettings>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disconnected-cluster-create-params")]
pub struct DisconnectedClusterCreateParams {
    #[schemars(length(min = 1, max = 54))]
    pub name: String,
    pub openshift_version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "v2-cluster-update-params")]
pub struct ClusterUpdateParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), length(min = 1, max = 54))]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub base_dns_domain: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), regex(pattern = crate::pattern::SUBNET))]
    pub cluster_network_cidr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), range(min = 1, max = 128))]
    pub cluster_network_host_prefix: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), regex(pattern = crate::pattern::SUBNET))]
    pub service_network_cidr: Option<String>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub api_vips: Option<Vec<ApiVip>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub ingress_vips: Option<Vec<IngressVip>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub api_vip_dns_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), regex(pattern = crate::pattern::SUBNET))]
    pub machine_network_cidr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub pull_secret: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ssh_public_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub vip_dhcp_allocation: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub http_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub https_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub no_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub user_managed_networking: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub additional_ntp_source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ntp_sources: Option<String>,
    #[serde(default)]
    pub olm_operators: Option<Vec<OperatorCreateParams>>,
    #[serde(default)]
    pub operator_bundles: Option<Vec<BundleCreateParams>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub hyperthreading: Option<RoleSet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub network_type: Option<NetworkType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub schedulable_masters: Option<bool>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub cluster_networks: Option<Vec<ClusterNetwork>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub service_networks: Option<Vec<ServiceNetwork>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub machine_networks: Option<Vec<MachineNetwork>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_encryption: Option<DiskEncryption>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<IgnitionEndpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub tags: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub control_plane_count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    /// Image mode at installation, as the install config asks for it. An addition to the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub on_cluster_layering: Option<Box<LayeringSettings>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "import-cluster-params")]
pub struct ImportClusterParams {
    pub name: String,
    pub api_vip_dnsname: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub openshift_version: String,
    pub openshift_cluster_id: Uuid,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ingress-cert-params")]
pub struct IngressCertParams(pub String);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "completion-params")]
pub struct CompletionParams {
    pub is_success: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub error_info: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<BTreeMap<String, Value>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster-finalizing-progress")]
pub struct ClusterFinalizingProgress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizing_stage: Option<FinalizingStage>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "credentials")]
pub struct Credentials {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub username: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub password: Secret,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub console_url: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "logs-progress-params")]
pub struct LogsProgressParams {
    pub logs_state: LogsState,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "presigned-url")]
pub struct PresignedUrl {
    pub url: String,
    #[serde(default)]
    pub expires_at: DateTime,
}
