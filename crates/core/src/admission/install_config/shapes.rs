//! Clusters of many shapes, of which install configs are made and judged.

use assisted_testkit::install_config::Input;
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{NetworkType, RoleSet};
use assisted_wire::host::HostRole;
use assisted_wire::id::InfraEnvId;
use assisted_wire::inventory::Boot;
use assisted_wire::network::{LoadBalancer, LoadBalancerType};
use assisted_wire::platform::{CloudControllerManager, Platform, PlatformExternal, PlatformType};
use serde_json::json;
use uuid::Uuid;

use super::Additions;
use crate::model::cluster::IpStack;
use crate::model::facts::Facts;
use crate::validation::testing::{facts, inventory};

const CA: &str = include_str!("../../../tests/data/ca.pem");

/// A shape: its name, its facts, what is overridden, and what the service adds.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) facts: Facts,
    pub(super) overrides: &'static str,
    pub(super) additions: Additions,
    /// The machine networks where those are not the cluster's own.
    node_networks: Option<&'static str>,
}

impl Shape {
    fn new(name: &'static str, facts: Facts) -> Self {
        Self { name, facts, overrides: "", additions: Additions::default(), node_networks: None }
    }

    /// What the checker is given of it: what clients of the API see.
    pub(super) fn input(&self) -> Input {
        let record = self.facts.cluster.as_ref().unwrap();
        let hosts = self.facts.hosts.iter().map(|host| {
            let mut shown = serde_json::to_value(&host.record.host).unwrap();
            shown["inventory"] = serde_json::to_value(host.inventory.as_deref()).unwrap();
            shown
        });
        let infra_envs = self.facts.infra_envs.values();
        Input {
            cluster: serde_json::to_value(&record.cluster).unwrap(),
            hosts: hosts.collect(),
            infra_envs: infra_envs.map(|record| serde_json::to_value(&record.infra_env).unwrap()).collect(),
            pull_secret: record.pull_secret.expose().to_owned(),
            overrides: self.overrides.to_owned(),
            mirrors: self.additions.mirrors.clone(),
            authorities: self.additions.authorities.clone(),
            ipv6_first: record.primary_ip_stack == Some(IpStack::V6),
            node_networks: self.node_networks.map(|network| vec![network.to_owned()]),
        }
    }
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

/// Two infra-envs are bound to the cluster, which tell the same time source, and one authority.
fn with_infra_envs(mut facts: Facts) -> Facts {
    let cluster = facts.cluster.as_ref().unwrap().cluster.id;
    for (number, sources, bundle) in [(1_u128, "t1, t2", CA), (2, "t2,t3", "")] {
        let id = InfraEnvId(Uuid::from_u128(number));
        let record = json!({"infra_env": {
            "kind": "InfraEnv", "id": id, "href": "", "name": "i", "type": "full-iso", "cluster_id": cluster,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
            "additional_trust_bundle": bundle, "additional_ntp_sources": sources,
        }});
        facts.infra_envs.insert(id, serde_json::from_value(record).unwrap());
    }
    facts
}

/// Hosts that reach each other in a second network, which comes first.
fn elsewhere(mut facts: Facts) -> Facts {
    let mut connected = serde_json::Map::new();
    for (number, host) in facts.hosts.iter_mut().enumerate() {
        let addresses = [format!("10.9.0.{}", 20 + number), format!("192.168.10.{}", 20 + number)];
        let built =
            addresses.iter().fold(inventory(), |built, address| built.address(&format!("{address}/24")));
        host.inventory = Some(built.build().into());
        connected.insert(host.record.host.id.to_string(), json!(addresses));
    }
    let ids: Vec<_> = facts.hosts.iter().map(|host| host.record.host.id).collect();
    let groups = json!({"majority_groups": {"IPv4": ids}, "l3_connected_addresses": connected});
    facts.with_cluster(on(PlatformType::None)).with_cluster(|cluster| {
        cluster.connectivity_majority_groups = groups.to_string();
    })
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

/// All shapes, each with a name of its own.
pub(super) fn shapes() -> Vec<Shape> {
    use PlatformType::{Baremetal, None as NoPlatform, Nutanix, Vsphere};
    let plain = Shape::new;
    let over = |name, overrides| Shape { overrides, ..Shape::new(name, cluster(3, 0, 2, Ip::V4)) };
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
        Shape { additions: mirrored(), ..plain("baremetal-mirrored", ha(Ip::V4)) },
        Shape {
            additions: mirrored(),
            ..plain("baremetal-mirrored-4.13", ha(Ip::V4).with_cluster(version("4.13.9")))
        },
        plain("baremetal-infra-envs", with_infra_envs(ha(Ip::V4))),
        plain("none-single-node", cluster(1, 0, 0, Ip::V4).with_cluster(on(NoPlatform))),
        plain("none-single-node-ipv6", cluster(1, 0, 0, Ip::V6).with_cluster(on(NoPlatform))),
        plain("none-single-node-found-networks", {
            let mut facts = cluster(1, 0, 0, Ip::Dual).with_cluster(on(NoPlatform));
            facts.cluster.as_mut().unwrap().primary_ip_stack = Some(IpStack::V6);
            facts.with_cluster(|cluster| cluster.machine_networks = None)
        }),
        plain("none-single-node-workers", cluster(1, 0, 2, Ip::V4).with_cluster(on(NoPlatform))),
        plain("none-ha", ha(Ip::V4).with_cluster(on(NoPlatform))),
        Shape {
            node_networks: Some("10.9.0.0/24"),
            ..plain("none-ha-chosen-addresses", elsewhere(ha(Ip::V4)))
        },
        plain("none-ha-dual", ha(Ip::Dual).with_cluster(on(NoPlatform))),
        plain("none-arbiter", cluster(2, 1, 0, Ip::V4).with_cluster(on(NoPlatform))),
        plain("none-fencing", fenced(cluster(2, 0, 0, Ip::V4)).with_cluster(on(NoPlatform))),
        plain("vsphere-ha", ha(Ip::V4).with_cluster(on(Vsphere))),
        plain("vsphere-4.12", ha(Ip::V4).with_cluster(on(Vsphere)).with_cluster(version("4.12.9"))),
        plain("vsphere-4.11", ha(Ip::V4).with_cluster(on(Vsphere)).with_cluster(version("4.11.59"))),
        plain(
            "vsphere-user-load-balancer",
            ha(Ip::V4).with_cluster(on(Vsphere)).with_cluster(|cluster| {
                cluster.load_balancer = Some(LoadBalancer { r#type: Some(LoadBalancerType::UserManaged) });
            }),
        ),
        plain(
            "vsphere-user-networking",
            ha(Ip::V4)
                .with_cluster(on(Vsphere))
                .with_cluster(|cluster| cluster.user_managed_networking = Some(true)),
        ),
        plain("nutanix-ha", ha(Ip::V4).with_cluster(on(Nutanix))),
        plain("nutanix-4.11", ha(Ip::V4).with_cluster(on(Nutanix)).with_cluster(version("4.11.59"))),
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
            r#"{"onClusterLayering":{"mode":"Disabled","machineOSConfigs":"Generate","registry":{"type":"External","port":22700,"loadBalancerConfigured":true,"pushRepository":"quay.io/lab/os"},"workerBuildLocation":"Bootstrap","rollout":"Switch","bakeConfigs":true,"scratch":"Memory","buildTimeoutMinutes":90,"waitForAdoption":false,"pools":[{"name":"worker","containerFile":"FROM configs"}]}}"#,
        ),
        over(
            "overrides-platform",
            r#"{"Platform":{"baremetal":{"provisioningNetworkCIDR":"172.22.0.0/24","hosts":[{},{"bmc":{"address":"redfish://b"}}]}}}"#,
        ),
        over(
            "overrides-provisioning",
            r#"{"platform":{"baremetal":{"clusterOSImage":"http://lab/os.qcow2","clusterProvisioningIP":"172.22.0.3","provisioningNetworkInterface":"eth1","provisioningNetwork":"Managed","provisioningDHCPRange":"172.22.0.10,172.22.0.100"}}}"#,
        ),
        over(
            "overrides-null",
            r#"{"networking":{"clusterNetwork":null,"serviceNetwork":null,"machineNetwork":null},"fips":null}"#,
        ),
        Shape {
            overrides: r#"{"additionalTrustBundlePolicy":"Always","imageDigestSources":[{"source":"quay.io/a","mirrors":["m/a"]}]}"#,
            additions: Additions { authorities: vec![CA.to_owned()], ..Additions::default() },
            ..plain("overrides-trust", ha(Ip::V4).with_cluster(on(Baremetal)))
        },
    ]
}
