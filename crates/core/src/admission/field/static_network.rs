//! Static network configuration of hosts: the form in which it is kept. What it says is judged where it is used.

use assisted_wire::embedded;
use assisted_wire::infra_env::{HostStaticNetworkConfig, MacInterfaceMap};

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
    fn equal_settings_have_equal_texts() {
        let one = stored(&[host("b: 1", &[B, A]), host("a: 1", &[])]);
        assert_eq!(one, stored(&[host("a: 1", &[]), host("b: 1", &[A, B])]));
        assert!(one.starts_with(r#"[{"network_yaml":"a: 1","mac_interface_map":[]},"#), "{one}");
        assert_eq!(stored(&[]), "");
    }
}
