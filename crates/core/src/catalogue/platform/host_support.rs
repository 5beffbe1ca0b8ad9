//! Which platforms the hosts of a cluster fit (validations §6.1).

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::inventory::Inventory;
use assisted_wire::platform::PlatformType;

use crate::catalogue::feature::levels::is_available;
use crate::catalogue::feature::query::of_platform;
use crate::catalogue::feature::rule::Target;
use crate::model::facts::{Facts, takes_part};
use crate::model::topology::OCI;

/// Platforms in the order in which they are listed; the second member names an external one.
const ORDER: &[(PlatformType, &str)] = &[
    (PlatformType::Vsphere, ""),
    (PlatformType::Baremetal, ""),
    (PlatformType::None, ""),
    (PlatformType::Nutanix, ""),
    (PlatformType::External, OCI),
    (PlatformType::External, ""),
];

/// How VMware's machines call their manufacturer.
pub(crate) const VMWARE: &str = "VMware, Inc.";
/// How the machines of Oracle's cloud do.
pub(crate) const ORACLE: &str = "OracleCloud.com";

/// Manufacturer of the machines that a platform needs, `external` being its name; `None`: it takes any.
pub(crate) fn manufacturer(platform: PlatformType, external: &str) -> Option<&'static str> {
    match platform {
        PlatformType::Vsphere => Some(VMWARE),
        PlatformType::Nutanix => Some("Nutanix"),
        PlatformType::External if external == OCI => Some(ORACLE),
        PlatformType::Baremetal | PlatformType::None | PlatformType::External => None,
    }
}

/// Whether a host fits a platform.
pub fn host_fits(inventory: Option<&Inventory>, platform: PlatformType, external: &str) -> bool {
    let Some(needed) = manufacturer(platform, external) else { return true };
    let vendor = inventory.and_then(|inventory| inventory.system_vendor.as_ref());
    vendor.is_some_and(|vendor| vendor.manufacturer == needed)
}

/// The platforms that a cluster could be installed on with its hosts.
pub fn supported(facts: &Facts) -> Vec<PlatformType> {
    let Some(cluster) = facts.cluster.as_ref().map(|record| &record.cluster) else { return Vec::new() };
    let hosts = || facts.hosts.iter().filter(|host| takes_part(host));
    if hosts().next().is_none() || cluster.control_plane_count == 1 {
        return vec![PlatformType::None];
    }
    let fits = |(platform, external): &&(PlatformType, &str)| {
        hosts().all(|host| host_fits(host.inventory.as_deref(), *platform, external))
    };
    let mut listed = Vec::new();
    for (platform, external) in ORDER.iter().filter(fits) {
        if !listed.contains(platform) && is_offered(cluster, *platform, external) {
            listed.push(*platform);
        }
    }
    listed
}

/// An external platform is only offered to machines that call for it.
fn is_offered(cluster: &Cluster, platform: PlatformType, external: &str) -> bool {
    if platform == PlatformType::External && external.is_empty() {
        return false;
    }
    let architecture = cluster.cpu_architecture.unwrap_or(CpuArchitecture::X8664);
    is_available(of_platform(platform, external), &Target::new(&cluster.openshift_version, architecture))
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostStatus;

    use super::*;
    use crate::validation::testing::{facts, inventory};

    #[test]
    fn a_host_that_is_taken_out_rules_no_platform_out() {
        let mut facts = facts(3);
        for (host, maker) in facts.hosts.iter_mut().zip([VMWARE, VMWARE, "Maker"]) {
            let built = inventory().with(|inventory| {
                inventory.system_vendor.get_or_insert_default().manufacturer = maker.to_owned();
            });
            host.inventory = Some(built.build().into());
        }
        assert!(!supported(&facts).contains(&PlatformType::Vsphere));
        facts.hosts[2].record.host.status = HostStatus::Disabled;
        assert!(supported(&facts).contains(&PlatformType::Vsphere));
        facts.hosts.iter_mut().for_each(|host| host.record.host.status = HostStatus::Disabled);
        assert_eq!(supported(&facts), [PlatformType::None]);
    }
}
