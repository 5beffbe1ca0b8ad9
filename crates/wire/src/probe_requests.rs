//! Arguments of the steps, one JSON object (or array) each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::HostRole;
use crate::id::{ClusterId, HostId, InfraEnvId};
use crate::infra_env::Proxy;
use crate::network::Ip;
use crate::secret::Secret;
use crate::text_enum;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "connectivity-check-nic")]
pub struct ConnectivityCheckNic {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("format" = "mac"))]
    pub mac: String,
    #[serde(default)]
    #[schemars(inner(regex(pattern = crate::pattern::PROBE_IP)))]
    pub ip_addresses: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "connectivity-check-host")]
pub struct ConnectivityCheckHost {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    #[serde(default)]
    pub nics: Option<Vec<ConnectivityCheckNic>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "connectivity-check-params")]
pub struct ConnectivityCheckParams(pub Vec<ConnectivityCheckHost>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "free_addresses_request")]
pub struct FreeAddressesRequest(
    #[schemars(inner(regex(pattern = r"^([0-9]{1,3}\.){3}[0-9]{1,3}\/[0-9]|[1-2][0-9]|3[0-2]?$")))]
    pub  Vec<String>,
);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "download_boot_artifacts_request")]
pub struct DownloadBootArtifactsRequest {
    pub kernel_url: String,
    pub rootfs_url: String,
    pub initrd_url: String,
    pub host_fs_mount_dir: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "reboot_for_reclaim_request")]
pub struct RebootForReclaimRequest {
    pub host_fs_mount_dir: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "api_vip_connectivity_request")]
pub struct ApiVipConnectivityRequest {
    pub url: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub verify_cidr: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ca_certificate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ignition_endpoint_token: Option<Secret>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub request_headers: Option<Vec<ApiVipConnectivityAdditionalRequestHeader>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "api_vip_connectivity_additional_request_header")]
pub struct ApiVipConnectivityAdditionalRequestHeader {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub key: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "tang_connectivity_request")]
pub struct TangConnectivityRequest {
    pub tang_servers: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disk_speed_check_request")]
pub struct DiskSpeedCheckRequest {
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "domain_resolution_request", extend("required" = ["domains"]))]
pub struct DomainResolutionRequest {
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub domains: Vec<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "dhcp_allocation_request")]
pub struct DhcpAllocationRequest {
    pub interface: String,
    #[schemars(extend("format" = "mac"))]
    pub api_vip_mac: String,
    #[schemars(extend("format" = "mac"))]
    pub ingress_vip_mac: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub api_vip_lease: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ingress_vip_lease: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "next_step_cmd_request")]
pub struct NextStepCmdRequest {
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    #[schemars(regex(pattern = crate::pattern::IMAGE_REFERENCE))]
    pub agent_version: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "logs_gather_cmd_request")]
pub struct LogsGatherCmdRequest {
    pub cluster_id: ClusterId,
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    pub bootstrap: bool,
    #[schemars(extend("default" = true))]
    pub installer_gather: bool,
    #[serde(default)]
    #[schemars(inner(regex(pattern = crate::pattern::PROBE_IP)))]
    pub master_ips: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "install_cmd_request")]
pub struct InstallCmdRequest {
    pub cluster_id: ClusterId,
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    pub role: HostRole,
    pub boot_device: String,
    #[schemars(regex(pattern = crate::pattern::IMAGE_REFERENCE))]
    pub controller_image: String,
    #[schemars(regex(pattern = crate::pattern::IMAGE_REFERENCE))]
    pub installer_image: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub control_plane_count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Always written: the contract reads its absence as true.
    #[serde(default)]
    #[schemars(extend("default" = true))]
    pub check_cvo: bool,
    #[serde(default)]
    pub disks_to_format: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub must_gather_image: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(regex(pattern = crate::pattern::IMAGE_REFERENCE))]
    pub mco_image: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub openshift_version: String,
    #[serde(default)]
    #[schemars(inner(regex(pattern = crate::pattern::PROBE_IP)))]
    pub service_ips: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub installer_args: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub skip_installation_disk_cleanup: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub enable_skip_mco_reboot: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub notify_num_reboots: bool,
    /// An addition: whether the controller approves every request for a certificate of a node.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub approve_all_csrs: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub coreos_image: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ntp_synchronization_request")]
pub struct NtpSynchronizationRequest {
    pub ntp_source: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "container_image_availability_request", extend("required" = ["images"]))]
pub struct ContainerImageAvailabilityRequest {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub timeout: i64,
    #[serde(default, deserialize_with = "crate::null::or_default")]
    #[schemars(inner(regex(pattern = crate::pattern::IMAGE_REFERENCE)))]
    pub images: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "upgrade_agent_request")]
pub struct UpgradeAgentRequest {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub agent_image: String,
}

text_enum! {
    #[schemars(rename = "vip_type")]
    pub enum VipType {
        Api = "api",
        Ingress = "ingress",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "verify_vip")]
pub struct VerifyVip {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub vip: Ip,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vip_type: Option<VipType>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "verify_vips_request")]
pub struct VerifyVipsRequest(pub Vec<VerifyVip>);
