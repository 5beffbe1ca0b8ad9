//! Whole install configs of many shapes of clusters, as they lie in `tests/data/install_config`.
//!
//! Set `UPDATE_GOLDEN=1` to write them anew, then read what changed.

use std::path::Path;

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{NetworkType, RoleSet};
use assisted_wire::host::HostRole;
use assisted_wire::inventory::Boot;
use assisted_wire::network::{LoadBalancer, LoadBalancerType};
use assisted_wire::platform::{CloudControllerManager, Platform, PlatformExternal, PlatformType};

use super::{Additions, text};
use crate::model::cluster::IpStack;
use crate::model::facts::Facts;
use crate::validation::testing::{facts, inventory};

const CA: &str = include_str!("../../../tests/data/ca.pem");

/// A shape: its name, its facts, what is overridden, and what the service adds.
struct Shape {
    name: &'static str,
    facts: Facts,
    overrides: &'static str,
    additions: Additions,
}

/// Which addresses hosts and cluster have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ip {
    V4,
    V6,
    Dual,
}

fn cluster(masters: usize, arbiters: usize, workers: usize, ip: Ip) -> Facts {
    let count = masters + arbiters + workers;
    let roles: Vec<_> = std::iter::repeat_n(HostRole::Master, masters)
        .chain(std::iter::repeat_n(HostRole::Arbiter, arbiters))
        .chain(std::iter::repeat_n(HostRole::Worker, workers))
        .collect();
    let facts = facts(count).with_roles(&roles);
    let mut facts = match ip {
        Ip::V4 => facts
            .with_machine_networks(&["192.168.10.0/24"])
            .with_vips(&["192.168.10.5"], &["192.168.10.6"])
            .with_networks(&["172.30.0.0/16"], &[("10.128.0.0/14", 23)]),
        Ip::V6 => facts
            .with_machine_networks(&["fd10::/64"])
            .with_vips(&["fd10::5"], &["fd10::6"])
            .with_networks(&["fd02::/112"], &[("fd01::/48", 64)]),
        Ip::Dual => facts
            .with_machine_networks(&["192.168.10.0/24", "fd10::/64"])
            .with_vips(&["192.168.10.5", "fd10::5"], &["192.168.10.6", "fd10::6"])
            .with_networks(&["172.30.0.0/16", "fd02::/112"], &[("10.128.0.0/14", 23), ("fd01::/48", 64)]),
    };
    for (number, host) in facts.hosts.iter_mut().enumerate() {
        let mut built = inventory();
        if ip != Ip::V6 {
            built = built.address(&format!("192.168.10.{}/24", 20 + number));
        }
        if ip != Ip::V4 {
            built = built.address(&format!("fd10::{}/64", 20 + number));
        }
        let built = built.with(|inventory| {
            for (nic, interface) in inventory.interfaces.iter_mut().flatten().enumerate() {
                interface.mac_address = format!("52:54:00:00:{nic:02x}:{number:02x}");
            }
            let mode = if number % 2 == 0 { "uefi" } else { "bios" };
            inventory.boot = Some(Boot { current_boot_mode: mode.to_owned(), ..Boot::default() });
        });
        host.inventory = Some(built.build().into());
        host.record.host.bootstrap = number + 1 == masters;
        host.record.host.installation_disk_id = format!("/dev/disk/by-id/wwn-{number}");
    }
    facts.cluster.as_mut().unwrap().pull_secret = r#"{"auths":{"quay.io":{"auth":"dTpw"}}}"#.into();
    facts.with_cluster(|cluster| {
        cluster.name = "lab".to_owned();
        cluster.openshift_version = "4.22.9".to_owned();
        cluster.ssh_public_key = "ssh-ed25519 AAAA lab".to_owned();
        cluster.hyperthreading = Some(RoleSet::All);
        cluster.control_plane_count = i64::try_from(masters).unwrap();
    })
}

fn on(kind: PlatformType) -> impl FnOnce(&mut Cluster) {
    move |cluster| {
        cluster.platform = Some(Platform { r#type: kind, external: None });
        let unmanaged = matches!(kind, PlatformType::None | PlatformType::External);
        cluster.user_managed_networking = Some(unmanaged);
        if unmanaged {
            (cluster.api_vips, cluster.ingress_vips) = (None, None);
        }
    }
}

fn external(name: &str, manager: Option<CloudControllerManager>) -> impl FnOnce(&mut Cluster) {
    let name = name.to_owned();
    move |cluster| {
        on(PlatformType::External)(cluster);
        let external = PlatformExternal { platform_name: Some(name), cloud_controller_manager: manager };
        cluster.platform = Some(Platform { r#type: PlatformType::External, external: Some(external) });
    }
}

fn version(version: &'static str) -> impl FnOnce(&mut Cluster) {
    move |cluster| version.clone_into(&mut cluster.openshift_version)
}

fn fenced(mut facts: Facts) -> Facts {
    for (host, more) in facts.hosts.iter_mut().zip(["", r#","mac_address":"52:54:00:aa:00:01""#]) {
        host.record.host.fencing_credentials = format!(
            r#"{{"address":"redfish+https://bmc/1","username":"admin","password":"pw","certificate_verification":"Disabled"{more}}}"#
        );
    }
    facts
}

fn by_network(kind: NetworkType) -> impl FnOnce(&mut Cluster) {
    move |cluster| cluster.network_type = Some(kind)
}

fn mirrored() -> Additions {
    let mirror = |name: &str| {
        (format!("quay.io/openshift-release-dev/{name}"), vec![format!("mirror.lab:5000/{name}")])
    };
    Additions {
        mirrors: vec![mirror("ocp-release"), mirror("ocp-v4.0-art-dev")],
        authorities: vec![CA.to_owned()],
    }
}

fn shapes() -> Vec<Shape> {
    use PlatformType::{Baremetal, None as NoPlatform, Nutanix, Vsphere};
    let plain = |name, facts| Shape { name, facts, overrides: "", additions: Additions::default() };
    let over = |name, overrides| Shape {
        name,
        facts: cluster(3, 0, 2, Ip::V4),
        overrides,
        additions: Additions::default(),
    };
    let ha = |ip| cluster(3, 0, 2, ip);
    vec![
        plain("baremetal-ha-ipv4", ha(Ip::V4)),
        plain("baremetal-ha-ipv6", ha(Ip::V6)),
        plain("baremetal-ha-dual", ha(Ip::Dual)),
        plain("baremetal-compact", cluster(3, 0, 0, Ip::V4)),
        plain("baremetal-one-worker", cluster(3, 0, 1, Ip::V4)),
        plain("baremetal-five-masters", cluster(5, 0, 2, Ip::V4)),
        plain("baremetal-arbiter", cluster(2, 1, 0, Ip::V4)),
        plain("baremetal-arbiter-4.19", cluster(2, 1, 0, Ip::V4).with_cluster(version("4.19.3"))),
        plain("baremetal-fencing", fenced(cluster(2, 0, 0, Ip::V4))),
        plain("baremetal-fencing-4.20", fenced(cluster(2, 0, 1, Ip::V4)).with_cluster(version("4.20.1"))),
        plain("baremetal-4.11", ha(Ip::V4).with_cluster(version("4.11.59"))),
        plain(
            "baremetal-sdn",
            ha(Ip::V4).with_cluster(version("4.11.59")).with_cluster(by_network(NetworkType::OpenShiftSDN)),
        ),
        plain("baremetal-calico", ha(Ip::V4).with_cluster(by_network(NetworkType::Calico))),
        plain("baremetal-no-network", ha(Ip::V4).with_cluster(by_network(NetworkType::None))),
        plain(
            "baremetal-user-load-balancer",
            ha(Ip::V4).with_cluster(|cluster| {
                cluster.load_balancer = Some(LoadBalancer { r#type: Some(LoadBalancerType::UserManaged) });
            }),
        ),
        plain(
            "baremetal-proxy-ntp",
            ha(Ip::V4).with_cluster(|cluster| {
                cluster.http_proxy = "http://proxy.lab:3128".to_owned();
                cluster.https_proxy = "http://proxy.lab:3129".to_owned();
                cluster.no_proxy = ".lab,10.0.0.0/8".to_owned();
                cluster.additional_ntp_source = "clock1.lab, clock2.lab".to_owned();
                cluster.hyperthreading = Some(RoleSet::Masters);
            }),
        ),
        Shape { name: "baremetal-mirrored", facts: ha(Ip::V4), overrides: "", additions: mirrored() },
        Shape {
            name: "baremetal-mirrored-4.13",
            facts: ha(Ip::V4).with_cluster(version("4.13.9")),
            overrides: "",
            additions: mirrored(),
        },
        plain("none-single-node", cluster(1, 0, 0, Ip::V4).with_cluster(on(NoPlatform))),
        plain("none-single-node-ipv6", cluster(1, 0, 0, Ip::V6).with_cluster(on(NoPlatform))),
        plain("none-single-node-found-networks", {
            let mut facts = cluster(1, 0, 0, Ip::Dual).with_cluster(on(NoPlatform));
            facts.cluster.as_mut().unwrap().primary_ip_stack = Some(IpStack::V6);
            facts.with_cluster(|cluster| cluster.machine_networks = None)
        }),
        plain("none-single-node-workers", cluster(1, 0, 2, Ip::V4).with_cluster(on(NoPlatform))),
        plain("none-ha", ha(Ip::V4).with_cluster(on(NoPlatform))),
        plain("none-ha-dual", ha(Ip::Dual).with_cluster(on(NoPlatform))),
        plain("none-arbiter", cluster(2, 1, 0, Ip::V4).with_cluster(on(NoPlatform))),
        plain("none-fencing", fenced(cluster(2, 0, 0, Ip::V4)).with_cluster(on(NoPlatform))),
        plain("vsphere-ha", ha(Ip::V4).with_cluster(on(Vsphere))),
        plain("vsphere-4.12", ha(Ip::V4).with_cluster(on(Vsphere)).with_cluster(version("4.12.9"))),
        plain(
            "vsphere-user-networking",
            ha(Ip::V4)
                .with_cluster(on(Vsphere))
                .with_cluster(|cluster| cluster.user_managed_networking = Some(true)),
        ),
        plain("nutanix-ha", ha(Ip::V4).with_cluster(on(Nutanix))),
        plain("nutanix-dual", ha(Ip::Dual).with_cluster(on(Nutanix))),
        plain(
            "external-oci",
            ha(Ip::V4).with_cluster(external("oci", Some(CloudControllerManager::External))),
        ),
        plain("external-other-single-node", cluster(1, 0, 0, Ip::V4).with_cluster(external("other", None))),
        over("overrides-fips", r#"{"fips":true,"sshKey":"ssh-rsa B"}"#),
        over("overrides-cpu-partitioning", r#"{"cpuPartitioningMode":"AllNodes"}"#),
        over(
            "overrides-capabilities",
            r#"{"capabilities":{"baselineCapabilitySet":"v4.12","additionalEnabledCapabilities":["openshift-samples"]}}"#,
        ),
        over(
            "overrides-feature-gates",
            r#"{"featureSet":"CustomNoUpgrade","featureGates":["OnClusterBuild=true"]}"#,
        ),
        over("overrides-os-stream", r#"{"osImageStream":"rhel-10"}"#),
        over(
            "overrides-layering",
            r#"{"onClusterLayering":{"mode":"Disabled","registry":{"type":"External","pushRepository":"quay.io/lab/os"}}}"#,
        ),
        over(
            "overrides-platform",
            r#"{"Platform":{"baremetal":{"provisioningNetworkCIDR":"172.22.0.0/24","hosts":[{},{"bmc":{"address":"redfish://b"}}]}}}"#,
        ),
        Shape {
            name: "overrides-trust",
            facts: ha(Ip::V4).with_cluster(on(Baremetal)),
            overrides: r#"{"additionalTrustBundlePolicy":"Always","imageDigestSources":[{"source":"quay.io/a","mirrors":["m/a"]}]}"#,
            additions: Additions { authorities: vec![CA.to_owned()], ..Additions::default() },
        },
    ]
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

#[test]
fn shapes_as_they_were() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/install_config");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let shapes = shapes();
    assert!(shapes.len() >= 30);
    let mut names = std::collections::BTreeSet::new();
    for Shape { name, facts, overrides, additions } in shapes {
        assert!(names.insert(format!("{name}.json")), "{name} is there twice");
        let made = text(&facts, overrides, &additions).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(made, text(&facts.clone(), overrides, &additions).unwrap(), "{name}");
        let made = pretty(made.expose());
        let path = dir.join(format!("{name}.json"));
        if update {
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(&path, &made).unwrap();
        }
        let known =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(made, known, "{name}");
        // YAML readers take it for what JSON readers do.
        let json: serde_json::Value = serde_json::from_str(&made).unwrap();
        let yaml: serde_json::Value = serde_yaml_ng::from_str(&made).unwrap();
        assert_eq!(json, yaml, "{name}");
    }
    let files =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.collect::<std::collections::BTreeSet<_>>(), names);
}
