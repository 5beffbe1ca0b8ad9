//! Our keyfiles are those that `nmstatectl gc` writes.
//!
//! `tests/data/keyfiles.json` is what `nmstatectl gc` of version 2.2.62 told of each network, line ends inside the texts
//! undoubled. The program is built from the very library that makes ours, so that it would judge nothing if it ran here; what it
//! told stays what existing images apply, whatever version of the library comes.

use std::collections::BTreeMap;

use assisted_netconf::keyfile;
use assisted_wire::infra_env::HostStaticNetworkConfig;

/// Networks of every kind that users of static settings have.
pub(crate) const NETWORKS: &[(&str, &str)] = &[
    ("dual stack", include_str!("../data/dual-stack.yaml")),
    ("bond and VLAN", include_str!("../data/bond-vlan.yaml")),
    ("bridge", include_str!("../data/bridge.yaml")),
    ("DHCP", include_str!("../data/dhcp.yaml")),
    ("by MAC address", include_str!("../data/by-mac.yaml")),
];

#[test]
fn the_same_bytes() {
    let known: BTreeMap<String, BTreeMap<String, String>> =
        serde_yaml_ng::from_str(include_str!("../data/keyfiles.json")).unwrap();
    assert_eq!(known.len(), NETWORKS.len());
    for (name, text) in NETWORKS {
        let ours = keyfile::generate(text).unwrap();
        let ours: BTreeMap<_, _> = ours.into_iter().map(|keyfile| (keyfile.name, keyfile.content)).collect();
        assert_eq!(ours, known[*name], "{name}");
    }
}

/// What the user guide shows works as it stands there.
#[test]
fn the_example_of_the_user_guide() {
    let hosts: Vec<HostStaticNetworkConfig> =
        serde_yaml_ng::from_str(include_str!("../../../../docs/examples/static-networks.yaml")).unwrap();
    assert_eq!(assisted_netconf::check(&hosts), Ok(()));
    let names: Vec<String> =
        keyfile::preferred(&hosts[0].network_yaml).unwrap().into_iter().map(|keyfile| keyfile.name).collect();
    for name in ["bond0", "bond0.120", "nic0", "nic1"] {
        assert!(names.contains(&format!("{name}.nmconnection")), "{names:?}");
    }
}
