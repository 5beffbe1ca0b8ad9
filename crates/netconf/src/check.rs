//! Whether hosts can be given the settings that a user wants (image-service §3.2).

use std::collections::{HashMap, HashSet};
use std::fmt;

use assisted_wire::infra_env::{HostStaticNetworkConfig, MacInterfaceMapItem};
use serde_yaml_ng::Value;

use crate::{keyfile, yaml};

/// Hosts of one infra-env at most; the image has no room for more.
const MOST_HOSTS: usize = 5_000;

/// Interfaces of one host at most.
const MOST_INTERFACES: usize = 256;

/// Everything that is wrong, in the form that clients of the API know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => writeln!(f, "1 error occurred:")?,
            count => writeln!(f, "{count} errors occurred:")?,
        }
        for problem in &self.0 {
            writeln!(f, "\t* {problem}")?;
        }
        writeln!(f)
    }
}

/// Checks the settings of all hosts.
///
/// # Errors
///
/// Everything that is wrong; the first text that is not YAML, or that nmstate refuses, ends the search.
pub fn check(hosts: &[HostStaticNetworkConfig]) -> Result<(), Problems> {
    let mut problems = Vec::new();
    if hosts.len() > MOST_HOSTS {
        return Err(Problems(vec![format!(
            "{} hosts are given, at most {MOST_HOSTS} are possible",
            hosts.len()
        )]));
    }
    let mut owners = HashMap::new();
    for (index, host) in hosts.iter().enumerate() {
        let map = host.mac_interface_map.as_ref().map_or(&[][..], |map| &map.0);
        check_map(index, map, &mut problems);
        for mac in map.iter().map(|item| item.mac_address.to_ascii_lowercase()) {
            match owners.insert(mac.clone(), index) {
                Some(other) if other != index => problems.push(format!(
                    "MAC address {mac} is mapped for host {other} and for host {index}: a machine can be only one of them"
                )),
                _ => {}
            }
        }
        let text = &host.network_yaml;
        let parsed = yaml::parse(text).and_then(|parsed| keyfile::generate(text).map(|_| parsed));
        match parsed {
            Ok(parsed) => check_interfaces(&parsed, map, &mut problems),
            Err(error) => {
                problems.push(format!("failed to validate network yaml for host {index}, {error}"));
                break;
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn check_map(index: usize, map: &[MacInterfaceMapItem], problems: &mut Vec<String>) {
    if map.is_empty() {
        problems.push(format!("at least one interface for host {index} must be provided"));
    }
    if map.len() > MOST_INTERFACES {
        problems.push(format!("host {index} has more than {MOST_INTERFACES} interfaces"));
        return;
    }
    let (mut macs, mut names) = (HashSet::new(), HashSet::new());
    let mut unique = true;
    for item in map {
        let MacInterfaceMapItem { mac_address, logical_nic_name } = item;
        unique &= macs.insert(mac_address.to_ascii_lowercase()) && names.insert(logical_nic_name);
        if !is_mac(mac_address) {
            problems.push(format!(
                "mac_interface_map of host {index} has {mac_address:?}, which is not a MAC address such as 52:54:00:aa:bb:cc"
            ));
        }
        if !keyfile::is_plain(logical_nic_name) {
            problems.push(format!(
                "mac_interface_map of host {index} has no usable logical_nic_name for {mac_address}: give the name that the \
                 interface has in the YAML"
            ));
        }
    }
    if !unique {
        problems.push(format!("MACs and Interfaces for host {index} must be unique"));
    }
}

fn is_mac(text: &str) -> bool {
    let pairs: Vec<&str> = text.split(':').collect();
    pairs.len() == 6
        && pairs.iter().all(|pair| pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Each interface of the machine must be found on it: by its MAC address, or by a name that does not change.
fn check_interfaces(parsed: &Value, map: &[MacInterfaceMapItem], problems: &mut Vec<String>) {
    let interfaces = parsed.get("interfaces").and_then(Value::as_sequence).map_or(&[][..], Vec::as_slice);
    let text = |interface: &Value, member: &str| {
        interface.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let by_mac: HashSet<String> = interfaces
        .iter()
        .filter(|interface| text(interface, "identifier") == "mac-address")
        .map(|interface| text(interface, "name"))
        .collect();
    let found = |name: &str| {
        by_mac.contains(name) || is_predictable(name) || map.iter().any(|item| item.logical_nic_name == name)
    };
    let missing = |name: &str, port: &str| {
        format!(
            "mac-interface mapping for interface {name} is missing and not a physical interface{port}: add it to \
             mac_interface_map, or give it identifier: mac-address"
        )
    };
    for interface in interfaces {
        let name = text(interface, "name");
        if name.is_empty() {
            problems.push("interface name not found in networks configuration".to_owned());
            continue;
        }
        if matches!(text(interface, "type").as_str(), "ethernet" | "802-3-ethernet") && !found(&name) {
            problems.push(missing(&name, ""));
        }
        let ports =
            interface.get("link-aggregation").and_then(|bond| bond.get("port")).and_then(Value::as_sequence);
        for port in ports.into_iter().flatten().filter_map(Value::as_str).filter(|port| !found(port)) {
            problems.push(missing(&name, &format!(" (its port {port})")));
        }
    }
}

/// Whether a name is made from the place of the hardware, so that it is the same at every boot.
fn is_predictable(name: &str) -> bool {
    name.strip_prefix("en").is_some_and(|rest| {
        rest.starts_with(['P', 's', 'v', 'x', 'X', 'b', 'u', 'c', 'a', 'i', 'p', 'o', 'd'])
    })
}

#[cfg(test)]
mod tests {
    use assisted_wire::infra_env::MacInterfaceMap;

    use super::*;

    fn host(yaml: &str, map: &[(&str, &str)]) -> HostStaticNetworkConfig {
        let item = |(mac, name): &(&str, &str)| MacInterfaceMapItem {
            mac_address: (*mac).to_owned(),
            logical_nic_name: (*name).to_owned(),
        };
        HostStaticNetworkConfig {
            network_yaml: yaml.to_owned(),
            mac_interface_map: Some(MacInterfaceMap(map.iter().map(item).collect())),
        }
    }

    const A: (&str, &str) = ("52:54:00:00:00:01", "eth0");
    const B: (&str, &str) = ("52:54:00:00:00:02", "eth1");
    const ETH0: &str = "interfaces:\n- {name: eth0, type: ethernet, state: up}\n";

    fn problem_of(hosts: &[HostStaticNetworkConfig]) -> String {
        check(hosts).unwrap_err().to_string()
    }

    #[test]
    fn good_ones() {
        let by_mac = "interfaces:\n- {name: wan, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:02'}\n";
        let bond = "interfaces:\n- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [eth0, enp1s0]}}\n";
        for (yaml, map) in [
            (ETH0, &[A][..]),
            (by_mac, &[A]),
            (bond, &[A]),
            ("interfaces:\n- {name: enp1s0, type: ethernet, state: up}\n", &[A]),
        ] {
            assert_eq!(check(&[host(yaml, map)]), Ok(()), "{yaml}");
        }
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[host(ETH0, &[A]), host(ETH0, &[(B.0, A.1)])]), Ok(()));
    }

    #[test]
    fn each_problem_is_told() {
        let refused = problem_of(&[host(ETH0, &[]), host(ETH0, &[B])]);
        assert_eq!(
            refused,
            "3 errors occurred:\n\t* at least one interface for host 0 must be provided\n\t* mac-interface mapping for interface \
             eth0 is missing and not a physical interface: add it to mac_interface_map, or give it identifier: \
             mac-address\n\t* mac-interface mapping for interface eth0 is missing and not a physical interface: add it to \
             mac_interface_map, or give it identifier: mac-address\n\n"
        );
        for (hosts, text) in [
            (vec![host(ETH0, &[A, (A.0, "eth1")])], "MACs and Interfaces for host 0 must be unique"),
            (vec![host(ETH0, &[A, (B.0, A.1)])], "MACs and Interfaces for host 0 must be unique"),
            (vec![host(ETH0, &[A]), host(ETH0, &[("52:54:00:00:00:01", "eth0")])], "host 0 and for host 1"),
            (vec![host(ETH0, &[("", "eth0")])], "not a MAC address"),
            (vec![host(ETH0, &[A, (B.0, "")])], "no usable logical_nic_name for 52:54:00:00:00:02"),
            (vec![host(ETH0, &[A, (B.0, "a b")])], "no usable logical_nic_name"),
            (vec![host("", &[A])], "for host 0, cannot generate configuration with an empty host YAML"),
            (vec![host("a: [", &[A])], "failed to validate network yaml for host 0, the YAML can't be read"),
            (vec![host("interfaces:\n- {type: ethernet}\n", &[A])], "InvalidArgument"),
            (
                vec![host(
                    "interfaces:\n- {name: bond0, type: bond, state: up, link-aggregation: {mode: '1', port: [eth0, eth7]}}\n",
                    &[A],
                )],
                "interface bond0 is missing and not a physical interface (its port eth7)",
            ),
        ] {
            let refused = problem_of(&hosts);
            assert!(refused.contains(text), "{text}: {refused}");
        }
    }

    #[test]
    fn too_many() {
        assert!(problem_of(&vec![host(ETH0, &[A]); MOST_HOSTS + 1]).contains("5001 hosts"));
        let map: Vec<(String, String)> = (0..300)
            .map(|n| (format!("52:54:00:00:{:02x}:{:02x}", n / 256, n % 256), format!("e{n}")))
            .collect();
        let map: Vec<(&str, &str)> = map.iter().map(|(mac, name)| (mac.as_str(), name.as_str())).collect();
        assert!(problem_of(&[host(ETH0, &map)]).contains("more than 256"));
    }
}
