//! Our keyfiles are those that `nmstatectl gc` of the same version writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

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

/// Where `cargo xtask setup` puts the program; of the version of the library in `Cargo.lock`.
fn program() -> PathBuf {
    let lock =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock")).unwrap();
    let (_, rest) = lock.split_once("name = \"nmstate\"\nversion = \"").unwrap();
    let (version, _) = rest.split_once('"').unwrap();
    assisted_testkit::installed("nmstatectl", version).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_same_bytes() {
    let program = program();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("network.yaml");
    for (name, text) in NETWORKS {
        std::fs::write(&file, text).unwrap();
        let output = Command::new(&program).arg("gc").arg(&file).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        // The program doubles each line end inside the texts that it quotes.
        let told = String::from_utf8(output.stdout).unwrap();
        let backends: BTreeMap<String, Vec<(String, String)>> = serde_yaml_ng::from_str(&told).unwrap();
        let theirs: BTreeMap<&str, &str> = backends["NetworkManager"]
            .iter()
            .map(|(name, content)| (name.as_str(), content.as_str()))
            .collect();
        let ours = keyfile::generate(text).unwrap();
        let ours: BTreeMap<&str, &str> =
            ours.iter().map(|keyfile| (keyfile.name.as_str(), keyfile.content.as_str())).collect();
        assert_eq!(ours, theirs, "{name}");
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

/// Prints what one host costs; what it may cost is no matter for a test.
#[test]
fn the_cost_of_a_host() {
    let started = Instant::now();
    const ROUNDS: u32 = 20;
    for _ in 0..ROUNDS {
        for (_, text) in NETWORKS {
            assert!(!keyfile::preferred(text).unwrap().is_empty());
        }
    }
    let hosts = ROUNDS * u32::try_from(NETWORKS.len()).unwrap();
    println!("one host: {:?}", started.elapsed() / hosts);
}
