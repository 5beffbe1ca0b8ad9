//! Hardware of a host, as its Agent tells it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// Hardware of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostInventory {
    /// Address of the BMC, IPv4.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bmc_address: String,
    /// Address of the BMC, IPv6.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bmc_v6_address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<HostBoot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<HostCpu>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<HostDisk>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<HostGpu>,
    /// Host name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<HostInterface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<HostMemory>,
    /// When the host told this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<HostSystemVendor>,
}

/// How a host was booted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostBoot {
    /// `uefi` or `bios`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current_boot_mode: String,
    /// What it was booted from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device_type: String,
    /// Interface that it was booted over the network by.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pxe_interface: String,
}

/// CPUs of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostCpu {
    /// Architecture.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    /// Frequency in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_megahertz: Option<i64>,
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model_name: String,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostDisk {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootable: Option<bool>,
    /// Its path under `/dev/disk/by-id`.
    #[serde(rename = "byID", skip_serializing_if = "String::is_empty")]
    pub by_id: String,
    /// Its path under `/dev/disk/by-path`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by_path: String,
    /// Kind of the drive: `HDD`, `SSD`, `NVMe`, `Multipath` and others.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub drive_type: String,
    /// SCSI address: host, channel, target, LUN.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hctl: String,
    /// What `installation_disk_id` names it by.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation_eligibility: Option<HostInstallationEligibility>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_perf: Option<HostIoPerf>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its path under `/dev`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial: String,
    /// Size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// What SMART says, as JSON.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub smart: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    /// World wide name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn: String,
}

/// Whether the system can be installed on a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostInstallationEligibility {
    /// Whether the system can be installed on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eligible: Option<bool>,
    /// Why not.
    pub not_eligible_reasons: Vec<String>,
}

/// How fast a disk is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostIoPerf {
    /// How long a synchronous write took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_duration_milliseconds: Option<i64>,
}

/// A graphics processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostGpu {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
    #[serde(rename = "deviceID", skip_serializing_if = "String::is_empty")]
    pub device_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    #[serde(rename = "vendorID", skip_serializing_if = "String::is_empty")]
    pub vendor_id: String,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostInterface {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bios_dev_name: String,
    #[serde(rename = "clientID", skip_serializing_if = "String::is_empty")]
    pub client_id: String,
    pub flags: Vec<String>,
    /// Whether there is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_carrier: Option<bool>,
    /// IPv4 addresses with their prefix lengths.
    #[serde(rename = "ipV4Addresses")]
    pub ipv4_addresses: Vec<String>,
    /// IPv6 addresses with their prefix lengths.
    #[serde(rename = "ipV6Addresses")]
    pub ipv6_addresses: Vec<String>,
    /// Hardware address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac_address: String,
    /// Largest packet in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub product: String,
    /// Speed in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vendor: String,
}

/// Memory of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostMemory {
    /// Installed memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_bytes: Option<i64>,
    /// Memory in bytes that the system can use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_bytes: Option<i64>,
}

/// Who made the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostSystemVendor {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub manufacturer: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub product_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial_number: String,
    /// Whether the machine is a virtual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#virtual: Option<bool>,
}
