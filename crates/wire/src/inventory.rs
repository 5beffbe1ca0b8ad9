//! A host's hardware and network, as its agent reports it.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::text_enum;

/// A network interface; speed in Mbit/s, addresses in CIDR form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "interface")]
pub struct Interface {
    #[serde(default)]
    pub ipv6_addresses: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub vendor: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub has_carrier: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub product: String,
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub mtu: i64,
    #[serde(default)]
    pub ipv4_addresses: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub biosdevname: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub client_id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub mac_address: String,
    #[serde(default)]
    pub flags: Option<Vec<String>>,
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub speed_mbps: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DiskInstallationEligibility {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub eligible: bool,
    #[serde(default)]
    pub not_eligible_reasons: Option<Vec<String>>,
}

/// A block device; sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disk")]
pub struct Disk {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub drive_type: Option<DriveType>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub has_uuid: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub vendor: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub path: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub hctl: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub by_path: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub by_id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub model: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub wwn: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub serial: String,
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub size_bytes: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub bootable: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub removable: bool,
    #[serde(rename = "partitionTypes", default, skip_serializing_if = "crate::null::is_default")]
    pub partition_types: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub is_installation_media: bool,
    #[serde(default)]
    #[schemars(extend("x-nullable" = false))]
    pub installation_eligibility: DiskInstallationEligibility,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub smart: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_perf: Option<IoPerf>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub holders: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iscsi: Option<Iscsi>,
}

text_enum! {
    #[schemars(rename = "drive_type")]
    pub enum DriveType {
        Unknown = "Unknown",
        Hdd = "HDD",
        Fdd = "FDD",
        Odd = "ODD",
        Ssd = "SSD",
        Virtual = "virtual",
        Multipath = "Multipath",
        ISCSI = "iSCSI",
        Fc = "FC",
        Lvm = "LVM",
        Raid = "RAID",
        Eckd = "ECKD",
        EckdEse = "ECKD (ESE)",
        Fba = "FBA",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "io_perf")]
pub struct IoPerf {
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub sync_duration: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "iscsi")]
pub struct Iscsi {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub host_ip_address: String,
}

text_enum! {
    #[schemars(inline)]
    pub enum BootDeviceType {
        Persistent = "persistent",
        Ephemeral = "ephemeral",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "boot")]
pub struct Boot {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub current_boot_mode: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub pxe_interface: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub command_line: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub secure_boot_state: Option<SecureBootState>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub device_type: Option<BootDeviceType>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "system_vendor")]
pub struct SystemVendor {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub serial_number: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub product_name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub manufacturer: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub r#virtual: bool,
}

impl SystemVendor {
    /// Product name of simulated hosts: how a service tells them from real ones.
    pub const SIMULATED_PRODUCT: &str = "assisted simulated host";
}

/// Memory; sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "memory")]
pub struct Memory {
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub physical_bytes: i64,
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub usable_bytes: i64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub physical_bytes_method: Option<MemoryMethod>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cpu")]
pub struct Cpu {
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub count: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub frequency: f64,
    #[serde(default)]
    pub flags: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub model_name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub architecture: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "gpu")]
pub struct Gpu {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub vendor: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub vendor_id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub device_id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub address: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "route")]
pub struct Route {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub interface: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub gateway: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub destination: String,
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub family: i32,
    #[serde(
        default,
        skip_serializing_if = "crate::null::is_default",
        deserialize_with = "crate::lenient::integer"
    )]
    pub metric: i32,
}

text_enum! {
    #[schemars(inline)]
    pub enum TpmVersion {
        None = "none",
        V1_2 = "1.2",
        V2_0 = "2.0",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum InventoryTruncationType {
        Partial = "partial",
        Full = "full",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct InventoryTruncation {
    #[schemars(extend("x-nullable" = false))]
    pub r#type: InventoryTruncationType,
    #[serde(default)]
    pub reasons: Option<Vec<String>>,
}

/// Without a type that is known, nothing is said about what was left out.
fn truncation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<InventoryTruncation>, D::Error> {
    #[derive(Deserialize)]
    struct Reported {
        #[serde(default, deserialize_with = "crate::lenient::parsed")]
        r#type: Option<InventoryTruncationType>,
        #[serde(default)]
        reasons: Option<Vec<String>>,
    }
    let told = Option::<Reported>::deserialize(deserializer)?;
    Ok(told.and_then(|told| Some(InventoryTruncation { r#type: told.r#type?, reasons: told.reasons })))
}

/// Everything that an agent found out about its machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "inventory")]
pub struct Inventory {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub hostname: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub bmc_address: String,
    #[serde(default)]
    pub interfaces: Option<Vec<Interface>>,
    #[serde(default)]
    pub disks: Option<Vec<Disk>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<SystemVendor>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub bmc_v6address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    #[serde(default)]
    pub gpus: Option<Vec<Gpu>>,
    #[serde(default)]
    pub routes: Option<Vec<Route>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::lenient::parsed")]
    pub tpm_version: Option<TpmVersion>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "truncation")]
    pub truncation: Option<InventoryTruncation>,
}

text_enum! {
    #[schemars(rename = "memory_method")]
    pub enum MemoryMethod {
        Dmidecode = "dmidecode",
        Ghw = "ghw",
        Meminfo = "meminfo",
    }
}

text_enum! {
    #[schemars(rename = "secure-boot-state")]
    pub enum SecureBootState {
        Unknown = "Unknown",
        NotSupported = "NotSupported",
        Enabled = "Enabled",
        Disabled = "Disabled",
    }
}
