//! Outputs of the steps, one JSON object (or array) each.

use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::HostId;
use crate::network::{Ip, VipVerification};
use crate::probe_requests::VipType;
use crate::text_enum;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "free-addresses-list")]
pub struct FreeAddressesList(pub Vec<Ipv4Addr>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "l2-connectivity")]
pub struct L2Connectivity {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub outgoing_nic: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub outgoing_ip_address: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub remote_ip_address: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub remote_mac: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub successful: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "l3-connectivity")]
pub struct L3Connectivity {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub outgoing_nic: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub remote_ip_address: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub successful: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("format" = "double"))]
    pub average_rtt_ms: f64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("format" = "double"))]
    pub packet_loss_percentage: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "mtu-report")]
pub struct MtuReport {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub outgoing_nic: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub remote_ip_address: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub mtu_successful: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "connectivity-remote-host")]
pub struct ConnectivityRemoteHost {
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub host_id: Option<HostId>,
    #[serde(default)]
    pub l2_connectivity: Option<Vec<L2Connectivity>>,
    #[serde(default)]
    pub l3_connectivity: Option<Vec<L3Connectivity>>,
    #[serde(default)]
    pub mtu_report: Option<Vec<MtuReport>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "connectivity-report")]
pub struct ConnectivityReport {
    #[serde(default)]
    pub remote_hosts: Option<Vec<ConnectivityRemoteHost>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "free_network_addresses")]
pub struct FreeNetworkAddresses {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(regex(pattern = crate::pattern::PROBE_CIDR))]
    pub network: String,
    #[serde(default, deserialize_with = "crate::lenient::addresses")]
    pub free_addresses: Option<Vec<Ipv4Addr>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "free_networks_addresses")]
pub struct FreeNetworksAddresses(pub Vec<FreeNetworkAddresses>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "api_vip_connectivity_response")]
pub struct ApiVipConnectivityResponse {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub is_success: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub url: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub download_error: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ignition: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct TangServerSignature {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub protected: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub signature: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct TangServerResponse {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub tang_url: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub payload: String,
    #[serde(default)]
    pub signatures: Option<Vec<TangServerSignature>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "tang_connectivity_response")]
pub struct TangConnectivityResponse {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub is_success: bool,
    #[serde(default)]
    pub tang_server_response: Option<Vec<TangServerResponse>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disk_speed_check_response")]
pub struct DiskSpeedCheckResponse {
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub io_sync_duration: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("required" = ["domain_name"]), transform = crate::lenient::without_defaults)]
pub struct DomainResolution {
    #[serde(default)]
    pub domain_name: String,
    #[serde(default, deserialize_with = "crate::lenient::addresses")]
    pub ipv4_addresses: Option<Vec<Ipv4Addr>>,
    #[serde(default, deserialize_with = "crate::lenient::addresses")]
    pub ipv6_addresses: Option<Vec<Ipv6Addr>>,
    #[serde(default)]
    pub cnames: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "domain_resolution_response", extend("required" = ["resolutions"]))]
pub struct DomainResolutionResponse {
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub resolutions: Vec<DomainResolution>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "dhcp_allocation_response")]
pub struct DhcpAllocationResponse {
    #[serde(deserialize_with = "crate::lenient::address")]
    pub api_vip_address: Ipv4Addr,
    #[serde(deserialize_with = "crate::lenient::address")]
    pub ingress_vip_address: Ipv4Addr,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub api_vip_lease: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ingress_vip_lease: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ntp_synchronization_response")]
pub struct NtpSynchronizationResponse {
    #[serde(default)]
    pub ntp_sources: Option<Vec<NtpSource>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ntp_source")]
pub struct NtpSource {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub source_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub source_state: Option<SourceState>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "container_image_availability_response", extend("required" = ["images"]))]
pub struct ContainerImageAvailabilityResponse {
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub images: Vec<ContainerImageAvailability>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "container_image_availability")]
pub struct ContainerImageAvailability {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub size_bytes: f64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub time: f64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub download_rate: f64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub result: Option<ContainerImageAvailabilityResult>,
}

text_enum! {
    #[schemars(rename = "container_image_availability_result")]
    pub enum ContainerImageAvailabilityResult {
        Success = "success",
        Failure = "failure",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "upgrade_agent_response")]
pub struct UpgradeAgentResponse {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub agent_image: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub result: Option<UpgradeAgentResult>,
}

text_enum! {
    #[schemars(rename = "upgrade_agent_result")]
    pub enum UpgradeAgentResult {
        Success = "success",
        Failure = "failure",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "verified_vip")]
pub struct VerifiedVip {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub vip: Ip,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub vip_type: Option<VipType>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub verification: Option<VipVerification>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "verify_vips_response")]
pub struct VerifyVipsResponse(pub Vec<VerifiedVip>);

text_enum! {
    #[schemars(rename = "source_state")]
    pub enum SourceState {
        Synced = "synced",
        Combined = "combined",
        NotCombined = "not_combined",
        Error = "error",
        Variable = "variable",
        Unreachable = "unreachable",
    }
}
