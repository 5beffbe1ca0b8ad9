//! Whether a virtual IP can be used in a machine network (validations §5.3).

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use assisted_wire::network::VipVerification;
use ipnet::IpNet;

use super::address::{bits, parse_network};

/// What is known about the addresses of a network that nobody uses.
#[derive(Clone, Debug, Default)]
pub struct FreeCheck<'a> {
    /// What was found out about this VIP, as stored with it.
    pub stored: Option<VipVerification>,
    /// Addresses that every host which looked found free; `None`: nothing is known yet.
    pub free: Option<&'a BTreeSet<Ipv4Addr>>,
    /// The machine network as the cluster spells it, for the texts.
    pub cidr: &'a str,
    /// Hosts of the cluster.
    pub hosts: usize,
}

/// A judgement on a VIP, with the reason unless it succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipVerdict {
    pub verification: VipVerification,
    /// Empty when it succeeded.
    pub reason: String,
}

impl VipVerdict {
    fn succeeded() -> Self {
        Self { verification: VipVerification::Succeeded, reason: String::new() }
    }

    fn failed(reason: String) -> Self {
        Self { verification: VipVerification::Failed, reason }
    }

    fn unverified(reason: String) -> Self {
        Self { verification: VipVerification::Unverified, reason }
    }

    /// Whether the VIP can be used.
    pub fn is_success(&self) -> bool {
        self.verification == VipVerification::Succeeded
    }
}

/// Checks a VIP against one machine network. `name` is what the texts call it, e.g. `api-vip`.
pub fn verify(name: &str, vip: &str, network: &str, free: Option<&FreeCheck<'_>>) -> VipVerdict {
    if network.is_empty() {
        return VipVerdict::unverified(format!(
            "{name} <{vip}> cannot be set if Machine Network CIDR is empty"
        ));
    }
    let outside =
        || VipVerdict::failed(format!("{name} <{vip}> does not belong to machine-network-cidr <{network}>"));
    let (Ok(address), Some(net)) = (vip.parse::<IpAddr>(), parse_network(network)) else {
        return outside();
    };
    if !net.contains(&address) {
        return outside();
    }
    if address.is_ipv4() && address == net.broadcast() {
        let text = format!("{name} <{vip}> is the broadcast address of machine-network-cidr <{network}>");
        return VipVerdict::failed(text);
    }
    free.map_or_else(VipVerdict::succeeded, |check| verify_free(name, vip, address, &net, check))
}

fn verify_free(name: &str, vip: &str, address: IpAddr, net: &IpNet, check: &FreeCheck<'_>) -> VipVerdict {
    let in_use = || {
        let small = too_small(net, check.hosts);
        let hint = ". The machine network range is too small for the cluster. Please redefine the network.";
        let hint = if small { hint } else { "" };
        VipVerdict::failed(format!("{name} <{vip}> is already in use in cidr {}{hint}", check.cidr))
    };
    match check.stored {
        Some(VipVerification::Succeeded) => VipVerdict::succeeded(),
        Some(VipVerification::Failed) => in_use(),
        _ => match (check.free, address) {
            (None, _) => VipVerdict::unverified(format!("{name} <{vip}> are not verified yet.")),
            (Some(free), IpAddr::V4(v4)) if free.contains(&v4) => VipVerdict::succeeded(),
            (Some(_), _) => in_use(),
        },
    }
}

/// Whether a machine network has no room for the hosts of the cluster beside its VIPs.
pub fn too_small(net: &IpNet, hosts: usize) -> bool {
    let (bits, prefix) = (bits(net), net.prefix_len());
    if hosts == 1 {
        return prefix > bits - 1;
    }
    let addresses = 1_u128.checked_shl(u32::from(bits - prefix)).unwrap_or(u128::MAX);
    let needed = u128::try_from(hosts).unwrap_or(u128::MAX).saturating_add(4);
    addresses < needed
}

/// Checks a VIP against several machine networks, of which one must hold it.
pub fn verify_any<'a>(name: &str, vip: &str, networks: impl Iterator<Item = &'a str>) -> VipVerdict {
    let mut reasons = Vec::new();
    let mut unverified = false;
    for network in networks {
        let verdict = verify(name, vip, network, None);
        if verdict.is_success() {
            return verdict;
        }
        unverified |= verdict.verification == VipVerification::Unverified;
        reasons.push(format!("machine network CIDR <{network}> verification failed: {}", verdict.reason));
    }
    if reasons.is_empty() {
        return VipVerdict::failed(format!("no machine networks to verify VIP: {vip} with"));
    }
    let reason = format!(
        "{name} '{vip}' failed verification: none of the machine networks is satisfying the requirements, description: {}",
        reasons.join("; ")
    );
    if unverified { VipVerdict::unverified(reason) } else { VipVerdict::failed(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stored: Option<VipVerification>, free: Option<&BTreeSet<Ipv4Addr>>) -> FreeCheck<'_> {
        FreeCheck { stored, free, cidr: "10.0.0.0/24", hosts: 3 }
    }

    #[test]
    fn one_network() {
        let text = |vip, net, free: Option<FreeCheck<'_>>| {
            let verdict = verify("api-vip", vip, net, free.as_ref());
            (verdict.verification, verdict.reason)
        };
        use VipVerification::{Failed, Succeeded, Unverified};
        let (eight, nine) =
            (BTreeSet::from([Ipv4Addr::new(10, 0, 0, 8)]), BTreeSet::from([Ipv4Addr::new(10, 0, 0, 9)]));
        let cases = [
            (
                text("10.0.0.9", "", None),
                Unverified,
                "api-vip <10.0.0.9> cannot be set if Machine Network CIDR is empty",
            ),
            (
                text("10.0.1.9", "10.0.0.0/24", None),
                Failed,
                "api-vip <10.0.1.9> does not belong to machine-network-cidr <10.0.0.0/24>",
            ),
            (
                text("nonsense", "10.0.0.0/24", None),
                Failed,
                "api-vip <nonsense> does not belong to machine-network-cidr <10.0.0.0/24>",
            ),
            (
                text("10.0.0.255", "10.0.0.0/24", None),
                Failed,
                "api-vip <10.0.0.255> is the broadcast address of machine-network-cidr <10.0.0.0/24>",
            ),
            (text("10.0.0.9", "10.0.0.0/24", None), Succeeded, ""),
            (text("fd00::ffff", "fd00::/112", None), Succeeded, ""),
            (text("10.0.0.9", "10.0.0.0/24", Some(check(Some(Succeeded), None))), Succeeded, ""),
            (
                text("10.0.0.9", "10.0.0.0/24", Some(check(Some(Failed), Some(&nine)))),
                Failed,
                "api-vip <10.0.0.9> is already in use in cidr 10.0.0.0/24",
            ),
            (
                text("10.0.0.9", "10.0.0.0/24", Some(check(Some(Unverified), None))),
                Unverified,
                "api-vip <10.0.0.9> are not verified yet.",
            ),
            (text("10.0.0.9", "10.0.0.0/24", Some(check(None, Some(&nine)))), Succeeded, ""),
            (
                text("10.0.0.9", "10.0.0.0/24", Some(check(None, Some(&eight)))),
                Failed,
                "api-vip <10.0.0.9> is already in use in cidr 10.0.0.0/24",
            ),
        ];
        for ((verification, reason), expected, text) in cases {
            assert_eq!((verification, reason.as_str()), (expected, text));
        }
    }

    #[test]
    fn small_networks() {
        let small = |net: &str, hosts| too_small(&parse_network(net).unwrap(), hosts);
        assert!(small("10.0.0.0/32", 1));
        assert!(!small("10.0.0.0/31", 1));
        assert!(small("10.0.0.0/30", 3));
        assert!(!small("10.0.0.0/29", 3));
        assert!(small("10.0.0.0/29", 5));
        assert!(!small("::/0", 5));
        let check = FreeCheck {
            stored: Some(VipVerification::Failed),
            cidr: "10.0.0.0/30",
            hosts: 3,
            ..FreeCheck::default()
        };
        let verdict = verify("api-vip", "10.0.0.2", "10.0.0.0/30", Some(&check));
        assert!(verdict.reason.ends_with("in cidr 10.0.0.0/30. The machine network range is too small for the cluster. Please redefine the network."));
    }

    #[test]
    fn several_networks() {
        let any = |networks: &[&'static str]| verify_any("api-vip", "10.0.0.9", networks.iter().copied());
        assert!(any(&["10.1.0.0/24", "10.0.0.0/24"]).is_success());
        assert_eq!(any(&[]).reason, "no machine networks to verify VIP: 10.0.0.9 with");
        let failed = any(&["10.1.0.0/24"]);
        assert_eq!(failed.verification, VipVerification::Failed);
        assert_eq!(
            failed.reason,
            "api-vip '10.0.0.9' failed verification: none of the machine networks is satisfying the requirements, \
             description: machine network CIDR <10.1.0.0/24> verification failed: api-vip <10.0.0.9> does not belong to \
             machine-network-cidr <10.1.0.0/24>"
        );
        assert_eq!(any(&["10.1.0.0/24", ""]).verification, VipVerification::Unverified);
    }
}
