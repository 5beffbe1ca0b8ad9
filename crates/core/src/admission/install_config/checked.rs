//! Install configs of clusters of many shapes: each is checked by the table of fields and by what follows from the cluster, and the
//! checker is shown every mistake that can be made in one place. Four lie as whole texts in `tests/data/install_config` besides, for people
//! to read; `cargo xtask bless -p assisted-core` writes them anew.

use std::collections::BTreeSet;
use std::path::Path;

use assisted_testkit::golden;
use assisted_testkit::install_config::{Change, ConfigChecker, known_places, mutants, places};
use serde_json::Value;

use super::shapes::{Shape, shapes};
use super::{for_installer, text};

/// Shapes whose texts are kept whole: one of each way in which much else differs.
const KEPT: [&str; 4] = ["baremetal-fencing-4.20", "baremetal-ha-dual", "none-single-node", "vsphere-ha"];

fn made(Shape { name, facts, overrides, additions, .. }: &Shape) -> String {
    let made = text(facts, overrides, additions).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(made, text(&facts.clone(), overrides, additions).unwrap(), "{name}");
    made.expose().to_owned()
}

fn checker(shape: &Shape) -> ConfigChecker {
    ConfigChecker::new(shape.input()).unwrap_or_else(|error| panic!("{}: {error}", shape.name))
}

#[test]
fn configs_say_what_follows_from_the_cluster() {
    let (mut names, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for shape in shapes() {
        let name = shape.name;
        assert!(names.insert(name), "{name} is there twice");
        let text = made(&shape);
        let config: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(checker(&shape).complaints(&config), Vec::<String>::new(), "{name}: {config:#}");
        seen.extend(places(&config));
        // YAML readers take it for what JSON readers do.
        let yaml: Value = serde_yaml_ng::from_str(&text).unwrap();
        assert_eq!(config, yaml, "{name}");
        let given = for_installer(&text.into()).unwrap();
        let mut without = config;
        without.as_object_mut().unwrap().remove("onClusterLayering");
        assert_eq!(serde_json::from_str::<Value>(given.expose()).unwrap(), without, "{name}");
    }
    assert!(names.len() >= 45, "{} shapes", names.len());
    let unseen: Vec<_> = known_places().into_iter().filter(|place| !seen.contains(place)).collect();
    assert_eq!(unseen, Vec::<String>::new(), "fields that no shape has");
}

#[test]
fn every_mistake_is_found() {
    let (mut kinds, mut tried) = (BTreeSet::new(), 0);
    for shape in shapes() {
        let checker = checker(&shape);
        let config: Value = serde_json::from_str(&made(&shape)).unwrap();
        for mutant in mutants(&config) {
            let told = || format!("{}: {:?} at {}", shape.name, mutant.change, mutant.place);
            assert!(!checker.wrong_facts(&mutant.config).is_empty(), "no fact is against {}", told());
            if matches!(mutant.change, Change::Added | Change::Renamed | Change::Retyped) {
                assert!(!checker.wrong_forms(&mutant.config).is_empty(), "the table takes {}", told());
            }
            kinds.insert(mutant.change);
            tried += 1;
        }
    }
    assert_eq!(kinds.len(), 6, "{kinds:?}");
    assert!(tried > 10_000, "{tried} mistakes");
}

/// What a field says is held against its words and its form, whatever the facts are.
#[test]
fn the_table_knows_what_fields_may_say() {
    let all = shapes();
    let shape = |name: &str| all.iter().find(|shape| shape.name == name).unwrap();
    for (name, field, wrong) in [
        ("baremetal-ha-dual", "/apiVersion", "v2"),
        ("baremetal-ha-dual", "/baseDomain", "Example.com"),
        ("baremetal-ha-dual", "/networking/networkType", "None"),
        ("baremetal-ha-dual", "/networking/machineNetwork/0/cidr", "192.168.10.1/24"),
        ("baremetal-ha-dual", "/networking/serviceNetwork/1", "fd02::/129"),
        ("baremetal-ha-dual", "/compute/0/hyperthreading", "On"),
        ("baremetal-ha-dual", "/compute/0/name", "master"),
        ("baremetal-ha-dual", "/platform/baremetal/provisioningNetwork", "None"),
        ("baremetal-ha-dual", "/platform/baremetal/apiVIPs/0", "192.168.10.5/24"),
        ("baremetal-ha-dual", "/platform/baremetal/hosts/0/role", "auto-assign"),
        ("baremetal-ha-dual", "/platform/baremetal/hosts/0/bootMode", "bios"),
        ("baremetal-ha-dual", "/platform/baremetal/hosts/0/bootMACAddress", "52-54-00-00-00-00"),
        ("baremetal-ha-dual", "/pullSecret", "secret"),
        ("baremetal-fencing", "/controlPlane/fencing/credentials/0/certificateVerification", "Off"),
        ("baremetal-arbiter-4.19", "/featureSet", "Tech"),
        ("none-single-node", "/bootstrapInPlace/installationDisk", "sda"),
        ("external-oci", "/platform/external/cloudControllerManager", "Internal"),
        ("overrides-capabilities", "/capabilities/baselineCapabilitySet", "4.12"),
        ("overrides-trust", "/additionalTrustBundle", "-----BEGIN CERTIFICATE-----"),
        ("overrides-trust", "/additionalTrustBundlePolicy", "Never"),
        ("overrides-cpu-partitioning", "/cpuPartitioningMode", "Some"),
        ("overrides-feature-gates", "/featureGates/0", "OnClusterBuild"),
    ] {
        let shape = shape(name);
        let mut config: Value = serde_json::from_str(&made(shape)).unwrap();
        *config.pointer_mut(field).unwrap() = wrong.into();
        assert_eq!(checker(shape).wrong_forms(&config).len(), 1, "{name}{field}");
    }
    // What belongs to another cluster.
    for (name, other, wrong) in [
        ("baremetal-ha-ipv4", "none-ha", "platform.baremetal: "),
        ("baremetal-mirrored", "baremetal-mirrored-4.13", "imageDigestSources: "),
        ("baremetal-4.11", "baremetal-ha-ipv4", "platform.baremetal.apiVIP: "),
        ("vsphere-ha", "vsphere-4.12", "platform.vsphere.vcenters: "),
        ("baremetal-fencing", "baremetal-ha-ipv4", "controlPlane.fencing: "),
        ("baremetal-arbiter", "baremetal-ha-ipv4", "arbiter: "),
        ("baremetal-proxy-ntp", "baremetal-ha-ipv4", "proxy: "),
        ("none-single-node", "none-ha", "bootstrapInPlace: "),
        ("overrides-cpu-partitioning", "baremetal-ha-ipv4", "cpuPartitioningMode: "),
        ("baremetal-fencing-4.20", "baremetal-fencing", "featureSet: "),
    ] {
        let config: Value = serde_json::from_str(&made(shape(name))).unwrap();
        let told = checker(shape(other)).wrong_forms(&config);
        assert!(told.iter().any(|told| told.starts_with(wrong)), "{name} as {other}: {told:?}");
    }
}

#[test]
fn texts_are_as_they_were() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/install_config");
    for shape in shapes().iter().filter(|shape| KEPT.contains(&shape.name)) {
        golden(dir.join(format!("{}.json", shape.name)), &pretty(&made(shape)));
    }
    let files =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kept = KEPT.iter().map(|name| format!("{name}.json"));
    assert_eq!(files.collect::<BTreeSet<_>>(), kept.collect());
}

/// A JSON text with its members in their order, one a line.
fn pretty(text: &str) -> String {
    let (mut out, mut depth, mut quoted, mut escaped) = (String::new(), 0_usize, false, false);
    for c in text.chars() {
        if quoted {
            out.push(c);
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
        match c {
            '"' => {
                quoted = true;
                out.push(c);
            }
            '{' | '[' => {
                depth += 1;
                out.push(c);
                out.push_str(&line(depth));
            }
            '}' | ']' => {
                depth -= 1;
                // An empty one stays on its line.
                let empty = out.trim_end().ends_with(['{', '[']);
                out.truncate(out.trim_end().len());
                if !empty {
                    out.push_str(&line(depth));
                }
                out.push(c);
            }
            ',' => {
                out.push(c);
                out.push_str(&line(depth));
            }
            ':' => out.push_str(": "),
            c => out.push(c),
        }
    }
    out.push('\n');
    out
}
