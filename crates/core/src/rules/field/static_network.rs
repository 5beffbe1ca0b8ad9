//! Static network configuration of hosts: its syntax, and the form in which it is kept.

use std::collections::HashSet;

use assisted_wire::embedded;
use assisted_wire::infra_env::{HostStaticNetworkConfig, MacInterfaceMap};
use serde_yaml_ng::Value;

use super::Problem;

/// Largest configuration of one host, bytes.
const LARGEST: usize = 256 * 1024;

/// Checks the configuration of hosts.
pub fn check(hosts: &[HostStaticNetworkConfig]) -> Result<(), Problem> {
    let mut macs = HashSet::new();
    for (index, host) in hosts.iter().enumerate() {
        if host.network_yaml.len() > LARGEST {
            return Err(format!("failed to validate network yaml for host {index}: larger than 256 KiB"));
        }
        let parsed: Value = serde_yaml_ng::from_str(&host.network_yaml)
            .map_err(|error| format!("failed to validate network yaml for host {index}, {error}"))?;
        if !parsed.is_mapping() {
            return Err(format!("failed to validate network yaml for host {index}, not a mapping"));
        }
        let mut names = HashSet::new();
        for item in host.mac_interface_map.iter().flat_map(|map| &map.0) {
            if item.logical_nic_name.is_empty() {
                return Err(format!("mac-interface mapping for interface {} is missing", item.mac_address));
            }
            if !names.insert(item.logical_nic_name.as_str()) {
                return Err(format!("interface {} is mapped twice for host {index}", item.logical_nic_name));
            }
            if !macs.insert(item.mac_address.to_ascii_lowercase()) {
                return Err(format!("MAC address {} is mapped twice", item.mac_address));
            }
        }
    }
    Ok(())
}

/// The text that is kept: hosts and interfaces sorted, so that equal settings have equal texts; empty for none.
pub fn stored(hosts: &[HostStaticNetworkConfig]) -> String {
    if hosts.is_empty() {
        return String::new();
    }
    let mut hosts = hosts.to_vec();
    for host in &mut hosts {
        let mut map = host.mac_interface_map.take().unwrap_or_default().0;
        map.sort_by(|a, b| a.logical_nic_name.cmp(&b.logical_nic_name));
        host.mac_interface_map = Some(MacInterfaceMap(map));
    }
    let key = |host: &HostStaticNetworkConfig| {
        let macs = host.mac_interface_map.iter().flat_map(|map| &map.0).map(|item| item.mac_address.clone());
        (host.network_yaml.clone(), macs.collect::<Vec<_>>())
    };
    hosts.sort_by_cached_key(key);
    embedded::write(&hosts).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assisted_wire::infra_env::MacInterfaceMapItem;

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

    #[test]
    fn configurations() {
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[host("interfaces: []", &[A, B])]), Ok(()));
        for hosts in [
            vec![host("a: [", &[])],
            vec![host("", &[])],
            vec![host("- a", &[])],
            vec![host("a: 1", &[(A.0, "")])],
            vec![host("a: 1", &[A, (B.0, A.1)])],
            vec![host("a: 1", &[A]), host("b: 1", &[A])],
        ] {
            assert!(check(&hosts).is_err(), "{hosts:?}");
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut yaml = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let items = vec![format!("*a{}", level - 1); 10].join(",");
            yaml.push_str(&format!("a{level}: &a{level} [{items}]\n"));
        }
        assert!(check(&[host(&yaml, &[])]).is_err());
        assert!(check(&[host(&"[".repeat(100_000), &[])]).is_err());
    }

    #[test]
    fn equal_settings_have_equal_texts() {
        let one = stored(&[host("b: 1", &[B, A]), host("a: 1", &[])]);
        assert_eq!(one, stored(&[host("a: 1", &[]), host("b: 1", &[A, B])]));
        assert!(one.starts_with(r#"[{"network_yaml":"a: 1","mac_interface_map":[]},"#), "{one}");
        assert_eq!(stored(&[]), "");
    }
}
