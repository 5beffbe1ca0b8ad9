//! The hosts that the service knows, and which of them a node is (installer-and-controller §B4.4): for the controller in a cluster,
//! and for the controllers of a hub.

use std::net::IpAddr;

use assisted_base::error::chain;
use assisted_wire::embedded;
use assisted_wire::host::{Host, HostStage, HostStatus};
use assisted_wire::inventory::Inventory;
use ipnet::IpNet;
use tracing::warn;

use crate::node::Node;

/// A host, with what its inventory tells about names and addresses.
#[derive(Clone, Debug)]
pub struct KnownHost {
    pub host: Host,
    /// Names of the host in lower case, the one that it was given first.
    pub names: Vec<String>,
    pub networks: Vec<IpNet>,
}

impl KnownHost {
    /// What is known of a host; one whose inventory can't be read has no addresses.
    pub fn of(host: Host) -> Self {
        let inventory: Inventory = embedded::read(&host.inventory)
            .unwrap_or_else(|error| {
                warn!(host = %host.id, error = chain(&error), "inventory can't be read");
                None
            })
            .unwrap_or_default();
        let mut names = vec![host.requested_hostname.to_lowercase(), inventory.hostname.to_lowercase()];
        names.retain(|name| !matches!(name.as_str(), "" | "localhost" | "localhost.localdomain"));
        names.dedup();
        let interfaces = inventory.interfaces.iter().flatten();
        let texts = interfaces.flat_map(|interface| {
            interface.ipv4_addresses.iter().flatten().chain(interface.ipv6_addresses.iter().flatten())
        });
        let networks = texts.filter_map(|text| text.parse().ok()).collect();
        Self { host, names, networks }
    }

    pub fn has_address(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.addr() == address)
    }

    /// Whether an address lies in a network that the host has a foot in.
    pub fn is_near(&self, address: IpAddr) -> bool {
        // Link-local addresses are near to everybody, and name nobody.
        let routed = self.networks.iter().filter(|network| !is_link_local(network.addr()));
        routed.into_iter().any(|network| network.contains(&address))
    }

    /// Whether a name, in lower case, is the host's: one of its own, or the same with a domain more or less.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|own| is_form(own, name))
    }

    /// The name that the host was given, or took before anybody gave it one, in lower case: what it is called once it
    /// is installed.
    fn requested(&self) -> Option<&str> {
        let first = self.names.first().map(String::as_str);
        first.filter(|name| *name == self.host.requested_hostname.to_lowercase())
    }

    pub fn stage(&self) -> Option<HostStage> {
        self.host.stage()
    }

    pub fn is(&self, status: HostStatus) -> bool {
        self.host.status == status
    }
}

/// Whether two names are one, or are the full and the short form of one.
fn is_form(one: &str, other: &str) -> bool {
    one == other || is_longer_form(one, other) || is_longer_form(other, one)
}

fn is_longer_form(long: &str, short: &str) -> bool {
    !short.contains('.')
        && long.strip_prefix(short).is_some_and(|domain| domain.len() > 1 && domain.starts_with('.'))
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_loopback(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.is_loopback(),
    }
}

/// More than one host goes by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ambiguous;

/// The one host that goes by a name, in its full or its short form. The name that a host was given counts more than the
/// one that it tells of itself.
pub fn of_name<'a>(all: &'a [KnownHost], name: &str) -> Result<Option<&'a KnownHost>, Ambiguous> {
    let name = name.to_lowercase();
    let by: [fn(&KnownHost, &str) -> bool; 3] = [
        |host, name| host.requested() == Some(name),
        |host, name| host.requested().is_some_and(|own| is_form(own, name)),
        KnownHost::has_name,
    ];
    for fits in by {
        let mut fitting = all.iter().filter(|host| fits(host, &name));
        match (fitting.next(), fitting.next()) {
            (Some(host), None) => return Ok(Some(host)),
            (Some(_), Some(_)) => return Err(Ambiguous),
            (None, _) => {}
        }
    }
    Ok(None)
}

/// The host that a node is: by the name that the host was given, by one of its addresses, or by another form of its name
/// that no second host has. Given names count among `candidates`, all else among all hosts.
pub fn of_node<'a>(
    all: &'a [KnownHost],
    node: &Node,
    candidates: impl Fn(&KnownHost) -> bool,
) -> Option<&'a KnownHost> {
    let name = node.name.to_lowercase();
    let by_name =
        all.iter().find(|host| candidates(host) && host.host.requested_hostname.to_lowercase() == name);
    let by_address = || {
        let mut addresses = node.internal.iter().rev();
        addresses.find_map(|address| all.iter().find(|host| host.has_address(*address)))
    };
    by_name.or_else(by_address).or_else(|| of_name(all, &name).ok().flatten())
}

#[cfg(test)]
pub(crate) mod tests {
    use assisted_wire::id::HostId;
    use serde_json::json;

    use super::*;

    pub(crate) fn host(requested: &str, own: &str, addresses: &[&str]) -> KnownHost {
        let (v6, v4): (Vec<&str>, Vec<&str>) =
            addresses.iter().copied().partition(|address: &&str| address.contains(':'));
        let inventory = json!({
            "hostname": own,
            "interfaces": [{"ipv4_addresses": v4, "ipv6_addresses": v6}],
        });
        KnownHost::of(
            serde_json::from_value(json!({
                "id": HostId::random(), "kind": "Host", "href": "", "status": "installing-in-progress",
                "status_info": "", "requested_hostname": requested, "inventory": inventory.to_string(),
            }))
            .unwrap(),
        )
    }

    fn node(name: &str, addresses: &[&str]) -> Node {
        Node {
            name: name.to_owned(),
            internal: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            ..Node::default()
        }
    }

    #[test]
    fn a_node_is_found_by_name_or_address() {
        let hosts = [
            host("Master-0", "", &["192.168.1.10/24", "fd00::10/64"]),
            host("master-1", "", &["192.168.1.11/24"]),
        ];
        let place = |node: &Node| {
            let found = of_node(&hosts, node, |_| true)?;
            hosts.iter().position(|host| host.host.id == found.host.id)
        };
        for (name, addresses, expected) in [
            ("master-0", &[][..], Some(0)),
            ("MASTER-1", &["192.168.1.10"], Some(1)),
            ("master-0.example.com", &["192.168.1.10"], Some(0)),
            ("other", &["fd00:0:0::10"], Some(0)),
            ("other", &["192.168.1.10", "192.168.1.11"], Some(1)),
            // An address that the inventory doesn't know: the other form of the name is enough.
            ("master-0.lab.example.com", &["192.168.1.99"], Some(0)),
            ("other", &["192.168.1.1"], None),
            ("", &[], None),
        ] {
            assert_eq!(place(&node(name, addresses)), expected, "{name} {addresses:?}");
        }
    }

    #[test]
    fn a_name_that_two_hosts_have_is_nobodys() {
        let hosts = [
            host("master-0.a.example.com", "", &["192.168.1.10/24"]),
            host("master-0.b.example.com", "", &["192.168.1.11/24"]),
            host("master-1", "", &[]),
            // What a host tells of itself takes no name from another.
            host("worker-0", "master-1", &[]),
            host("worker-1", "told.example.com", &[]),
            host("worker-2", "told", &[]),
        ];
        let place = |name: &str| {
            let found = of_name(&hosts, name)?;
            Ok(found.and_then(|found| hosts.iter().position(|host| host.host.id == found.host.id)))
        };
        for (name, expected) in [
            ("Master-0.A.example.com", Ok(Some(0))),
            ("master-0.b.example.com", Ok(Some(1))),
            ("master-0", Err(Ambiguous)),
            ("master-0.c.example.com", Ok(None)),
            ("master-1", Ok(Some(2))),
            ("master-1.lab.example.com", Ok(Some(2))),
            ("told", Err(Ambiguous)),
            ("worker-1.lab.example.com", Ok(Some(4))),
        ] {
            assert_eq!(place(name), expected, "{name}");
        }
        let by_address = of_node(&hosts, &node("master-0", &["192.168.1.11"]), |_| true).unwrap();
        assert_eq!(by_address.host.id, hosts[1].host.id);
        assert!(of_node(&hosts, &node("master-0", &["192.168.1.99"]), |_| true).is_none());
    }

    #[test]
    fn names_with_and_without_a_domain_are_one() {
        let known = host("master-0", "node7.lab.example.com", &[]);
        for name in ["master-0", "master-0.any.where", "node7", "node7.lab.example.com"] {
            assert!(known.has_name(name), "{name}");
        }
        for name in
            ["master-0.", "master-01", "master", "", "node7.example.com", "node7.lab.example.com.more"]
        {
            assert!(!known.has_name(name), "{name}");
        }
        assert!(!host("localhost", "localhost", &[]).has_name("localhost"));
    }

    #[test]
    fn inventories_that_can_not_be_read_harm_nobody() {
        let mut broken = host("master-0", "", &[]).host;
        for inventory in ["", "{", "[]", r#"{"interfaces":[{"ipv4_addresses":["no address","1.2.3.4"]}]}"#] {
            broken.inventory = inventory.to_owned();
            assert!(KnownHost::of(broken.clone()).networks.is_empty());
        }
    }
}
