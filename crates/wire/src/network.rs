//! Addresses, networks and virtual IPs of a cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::ClusterId;
use crate::text_enum;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "list-managed-domains")]
pub struct ListManagedDomains(pub Vec<ManagedDomain>);

text_enum! {
    #[schemars(inline)]
    pub enum DnsProvider {
        Route53 = "route53",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "managed-domain")]
pub struct ManagedDomain {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub domain: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<DnsProvider>,
}

/// A DNS record that the service made for a cluster, or is about to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "dns-record")]
pub struct DnsRecord {
    /// All of the name, without a dot at its end.
    pub name: String,
    /// `A` or `AAAA`.
    pub r#type: String,
    /// The address that the name leads to.
    pub address: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host_network")]
pub struct HostNetwork {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub cidr: String,
    #[serde(default)]
    pub host_ids: Option<Vec<Uuid>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ip")]
pub struct Ip(#[schemars(regex(pattern = crate::pattern::IP))] pub String);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "subnet")]
pub struct Subnet(#[schemars(regex(pattern = crate::pattern::SUBNET))] pub String);

text_enum! {
    #[schemars(rename = "vip_verification", extend("default" = "unverified"))]
    pub enum VipVerification {
        Unverified = "unverified",
        Failed = "failed",
        Succeeded = "succeeded",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster_network")]
pub struct ClusterNetwork {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub cidr: Subnet,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(range(min = 1, max = 128))]
    pub host_prefix: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine_network")]
pub struct MachineNetwork {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub cidr: Subnet,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "service_network")]
pub struct ServiceNetwork {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub cidr: Subnet,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "api_vip")]
pub struct ApiVip {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ip: Ip,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VipVerification>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ingress_vip")]
pub struct IngressVip {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ip: Ip,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VipVerification>,
}

text_enum! {
    #[schemars(inline)]
    pub enum LoadBalancerType {
        ClusterManaged = "cluster-managed",
        UserManaged = "user-managed",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "load_balancer")]
pub struct LoadBalancer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<LoadBalancerType>,
}
