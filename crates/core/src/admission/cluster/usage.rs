//! Which features a cluster's settings use, noted when it is registered and updated (service-api §18.2).

use assisted_wire::cluster::{Cluster, DiskEncryptionMode};
use assisted_wire::cluster_params::{NetworkType, RoleSet};
use assisted_wire::platform::PlatformType;
use serde_json::{Value, json};

use crate::admission::network::dual_stack;
use crate::catalogue::feature::usage::Usages;
use crate::catalogue::operators::{OPERATORS, is_selected};

/// Notes what follows from the cluster as it is, whether it is new or updated.
pub(super) fn record(usages: &mut Usages, cluster: &Cluster) {
    let sources = cluster.additional_ntp_source.split(',').filter(|source| !source.is_empty()).count();
    usages.set_with("Additional NTP Source", sources > 0, [("source_count", sources.into())]);
    usages.set("SNO", cluster.control_plane_count == 1);
    usages.set("VIP auto alloc.", cluster.vip_dhcp_allocation == Some(true));
    for (kind, name) in [
        (NetworkType::OVNKubernetes, "OVN network type"),
        (NetworkType::OpenShiftSDN, "SDN network type"),
        (NetworkType::CiscoACI, "CiscoACI network type"),
        (NetworkType::Cilium, "Cilium network type"),
        (NetworkType::Calico, "Calico network type"),
        (NetworkType::None, "None network type"),
    ] {
        usages.set(name, cluster.network_type == Some(kind));
    }
    usages.set("Dual-stack", dual_stack::is_dual(cluster));
    usages.set("Dual-stack VIPs", cluster.api_vips.as_ref().is_some_and(|vips| vips.len() > 1));
    let platform = cluster.platform.as_ref().map_or(PlatformType::Baremetal, |platform| platform.r#type);
    let data = [("platform_type", Value::from(platform.as_str()))];
    let selected = matches!(platform, PlatformType::Vsphere | PlatformType::Nutanix | PlatformType::External);
    usages.set_with("Platform selection", selected, data.clone());
    usages.set_with("Nutanix integration", platform == PlatformType::Nutanix, data);
    usages.set("Cluster Tags", !cluster.tags.is_empty());
    let hyperthreading = cluster.hyperthreading.unwrap_or(RoleSet::All);
    usages.set_with(
        "Hyperthreading",
        hyperthreading != RoleSet::None,
        [("hyperthreading_enabled", hyperthreading.as_str().into())],
    );
    let by_user = cluster.user_managed_networking == Some(true);
    usages.set("User Managed Networking With Multi Node", by_user && cluster.control_plane_count >= 3);
    for operator in OPERATORS {
        usages.set(&operator.name.to_uppercase(), is_selected(cluster, operator.name));
    }
}

/// Notes the proxies of a request.
pub(super) fn record_proxy(usages: &mut Usages, http: bool, https: bool, no_proxy: bool) {
    let flag = |given: bool| Value::from(i32::from(given));
    let data = [("http_proxy", flag(http)), ("https_proxy", flag(https)), ("no_proxy", flag(no_proxy))];
    usages.set_with("Proxy", http || https || no_proxy, data);
}

/// Notes the encryption of disks; never forgotten once noted.
pub(super) fn record_disk_encryption(usages: &mut Usages, cluster: &Cluster) {
    let Some(encryption) = &cluster.disk_encryption else { return };
    let enable_on = encryption.enable_on.unwrap_or(RoleSet::None);
    if enable_on == RoleSet::None {
        return;
    }
    let mode = encryption.mode.unwrap_or(DiskEncryptionMode::Tpmv2);
    let data = [
        ("enable_on", json!(enable_on)),
        ("mode", json!(mode)),
        ("tang_servers", json!(encryption.tang_servers)),
    ];
    usages.set_with("Disk encryption", true, data);
}
