//! The big things that a host reports, or that are derived from its reports: each is the text of one field of the host.

use assisted_wire::host::Host;
use serde::{Deserialize, Serialize};

/// A kind of report. Each is stored apart from the host, with a hash, and is the text of the host's field of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    Inventory,
    Connectivity,
    ApiVipConnectivity,
    TangConnectivity,
    FreeAddresses,
    NtpSources,
    DisksInfo,
    ImagesStatus,
    DomainNameResolutions,
    ValidationsInfo,
}

impl ReportKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Inventory,
        Self::Connectivity,
        Self::ApiVipConnectivity,
        Self::TangConnectivity,
        Self::FreeAddresses,
        Self::NtpSources,
        Self::DisksInfo,
        Self::ImagesStatus,
        Self::DomainNameResolutions,
        Self::ValidationsInfo,
    ];

    /// The name under which it is stored: that of the host's field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Connectivity => "connectivity",
            Self::ApiVipConnectivity => "api_vip_connectivity",
            Self::TangConnectivity => "tang_connectivity",
            Self::FreeAddresses => "free_addresses",
            Self::NtpSources => "ntp_sources",
            Self::DisksInfo => "disks_info",
            Self::ImagesStatus => "images_status",
            Self::DomainNameResolutions => "domain_name_resolutions",
            Self::ValidationsInfo => "validations_info",
        }
    }

    /// The kind that is stored under a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// The host's field that holds the report.
    pub fn field(self, host: &mut Host) -> &mut String {
        match self {
            Self::Inventory => &mut host.inventory,
            Self::Connectivity => &mut host.connectivity,
            Self::ApiVipConnectivity => &mut host.api_vip_connectivity,
            Self::TangConnectivity => &mut host.tang_connectivity,
            Self::FreeAddresses => &mut host.free_addresses,
            Self::NtpSources => &mut host.ntp_sources,
            Self::DisksInfo => &mut host.disks_info,
            Self::ImagesStatus => &mut host.images_status,
            Self::DomainNameResolutions => &mut host.domain_name_resolutions,
            Self::ValidationsInfo => &mut host.validations_info,
        }
    }
}
