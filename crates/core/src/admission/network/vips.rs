//! VIPs: how many, of which family, and in which networks (service-api §4.3).

use std::collections::HashSet;
use std::net::IpAddr;

use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::network::VipVerification;
use assisted_wire::support_level::FeatureSupportLevelId;

use super::lists::Lists;
use super::{dual_stack, family};
use crate::catalogue::feature::levels::is_available;
use crate::catalogue::feature::rule::Target;
use crate::model::cluster::IpStack;
use crate::model::refusal::{Refusal, collected};
use crate::network::free_addresses::FreeAddresses;
use crate::network::vip::{FreeCheck, verify, verify_any};

/// A configuration whose VIPs and networks are judged, as it would be.
#[derive(Clone, Debug)]
pub struct VipConfiguration<'a> {
    pub lists: Lists<'a>,
    pub version: &'a str,
    pub architecture: CpuArchitecture,
    pub user_managed_networking: bool,
    pub vip_dhcp_allocation: bool,
    pub user_managed_load_balancer: bool,
    /// Whether IPv6 can be used at all.
    pub ipv6_support: bool,
    /// Whether user-managed networking is being switched on: then it is what contradicts.
    pub switching_user_managed_networking_on: bool,
    /// Hosts of the cluster, and what they know to be free.
    pub hosts: Option<Hosts<'a>>,
}

/// What hosts know about free addresses.
#[derive(Clone, Copy, Debug)]
pub struct Hosts<'a> {
    pub count: usize,
    pub free: &'a FreeAddresses,
}

/// Checks VIPs and networks together.
pub fn check(wanted: &VipConfiguration<'_>) -> Result<(), Refusal> {
    validate(wanted).map_err(Refusal::invalid)
}

fn validate(wanted: &VipConfiguration<'_>) -> Result<(), String> {
    let (api, ingress) = (wanted.lists.api(), wanted.lists.ingress());
    let target = Target::new(wanted.version, wanted.architecture);
    if (api.len() > 1 || ingress.len() > 1) && !is_available(FeatureSupportLevelId::DualStackVips, &target) {
        return Err(format!("dual-stack VIPs are not supported in OpenShift {}", wanted.version));
    }
    check_lists(&api, &ingress, wanted.user_managed_load_balancer)?;
    if wanted.user_managed_networking {
        check_user_managed(wanted, &api, &ingress)?;
    }
    if wanted.vip_dhcp_allocation {
        for (list, name) in [(&api, "API"), (&ingress, "Ingress")] {
            if !list.is_empty() {
                return Err(format!(
                    "Setting {name} VIPs is forbidden when cluster is in vip-dhcp-allocation mode"
                ));
            }
        }
    }
    if !wanted.ipv6_support {
        check_ipv6(wanted.lists)?;
    }
    if api.len() == 2 {
        dual_stack::check_pair("apiVIPs", "address", &api, wanted.version)?;
        dual_stack::check_pair("ingressVips", "address", &ingress, wanted.version)?;
    }
    check_networks(wanted, &api, &ingress)
}

fn check_lists(api: &[&str], ingress: &[&str], may_coincide: bool) -> Result<(), String> {
    let mut problems = Vec::new();
    for (list, name) in [(api, "apiVIPs"), (ingress, "ingressVips")] {
        if list.len() > 2 {
            problems.push(format!("{name} supports 2 vips. got: {}", list.len()));
        }
    }
    for (list, name) in [(api, "API"), (ingress, "Ingress")] {
        for (index, ip) in list.iter().enumerate() {
            if ip.is_empty() {
                problems.push(format!("{name} VIP IP at index {index} cannot be empty"));
            } else if ip.parse::<IpAddr>().is_err() {
                problems.push(format!("Could not parse VIP ip {ip}"));
            }
        }
    }
    if api.len() != ingress.len() {
        problems.push(format!(
            "configuration must include the same number of apiVIPs (got {}) and ingressVIPs (got {})",
            api.len(),
            ingress.len()
        ));
    }
    let mut seen_api = HashSet::new();
    let mut seen_ingress = HashSet::new();
    for ip in api.iter().filter_map(|ip| ip.parse::<IpAddr>().ok()) {
        if !seen_api.insert(ip) {
            problems.push(format!("The IP address \"{ip}\" appears multiple times in apiVIPs"));
        }
    }
    for ip in ingress.iter().filter_map(|ip| ip.parse::<IpAddr>().ok()) {
        if !seen_ingress.insert(ip) {
            problems.push(format!("The IP address \"{ip}\" appears multiple times in ingressVIPs"));
        } else if seen_api.contains(&ip) && !may_coincide {
            problems.push(format!("The IP address \"{ip}\" appears both in apiVIPs and ingressVIPs"));
        }
    }
    collected(&problems).map_or(Ok(()), Err)
}

fn check_user_managed(wanted: &VipConfiguration<'_>, api: &[&str], ingress: &[&str]) -> Result<(), String> {
    let contradictions = [
        (wanted.vip_dhcp_allocation, "VIP DHCP Allocation"),
        (!api.is_empty(), "API VIPs"),
        (!ingress.is_empty(), "Ingress VIPs"),
    ];
    let Some((_, what)) = contradictions.iter().find(|(given, _)| *given) else { return Ok(()) };
    Err(if wanted.switching_user_managed_networking_on {
        format!("User Managed Networking cannot be set with {what}")
    } else {
        format!("{what} cannot be set with User Managed Networking")
    })
}

fn check_ipv6(lists: Lists<'_>) -> Result<(), String> {
    let only_v6 =
        |list: &[&str]| !list.is_empty() && list.iter().all(|text| family(text) == Some(IpStack::V6));
    for (list, context) in [
        (lists.machine(), "machine networks"),
        (lists.service(), "service networks"),
        (lists.cluster(), "cluster networks"),
        (lists.api(), "API Vips"),
        (lists.ingress(), "Ingress Vips"),
    ] {
        if only_v6(&list) {
            return Err(format!(
                "Single stack IPv6 is not supported in this setup. Please verify your {context} configuration"
            ));
        }
    }
    Ok(())
}

fn check_networks(wanted: &VipConfiguration<'_>, api: &[&str], ingress: &[&str]) -> Result<(), String> {
    let machine = wanted.lists.machine();
    let is_dual = dual_stack::in_lists(wanted.lists);
    if is_dual {
        dual_stack::check_networks(wanted.lists, wanted.version)?;
        if machine.is_empty() && !api.is_empty() && !wanted.user_managed_networking {
            return Err("Dual-stack cluster cannot be created with empty Machine Networks".to_owned());
        }
    } else if machine.len() > 1 && !wanted.user_managed_load_balancer {
        return Err("Single-stack cluster cannot contain multiple Machine Networks".to_owned());
    }
    if wanted.vip_dhcp_allocation || machine.is_empty() {
        return Ok(());
    }
    if wanted.user_managed_load_balancer {
        for (list, name) in [(api, "api-vip"), (ingress, "ingress-vip")] {
            for vip in list {
                let verdict = verify_any(name, vip, machine.iter().copied());
                if verdict.verification == VipVerification::Failed {
                    return Err(verdict.reason);
                }
            }
        }
        return Ok(());
    }
    for (list, name) in [(api, "api-vip"), (ingress, "ingress-vip")] {
        for (index, vip) in list.iter().enumerate() {
            // A second VIP without a second network has no place (service-api §20, 11).
            let Some(network) = machine.get(index) else {
                return Err(format!(
                    "{name} <{vip}> has no machine network: {} VIPs need as many",
                    list.len()
                ));
            };
            let free = wanted.hosts.map(|hosts| FreeCheck {
                stored: None,
                free: hosts.free.of(network),
                cidr: network,
                hosts: hosts.count,
            });
            let verdict = verify(name, vip, network, free.as_ref());
            if verdict.verification == VipVerification::Failed {
                return Err(verdict.reason);
            }
        }
    }
    Ok(())
}
