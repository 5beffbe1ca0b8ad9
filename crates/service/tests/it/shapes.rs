//! Clusters of many shapes, generated from a release in a real registry: their install configs are judged by the table of fields and by
//! what follows from the cluster, the rest lies in `tests/data/generated`. `cargo xtask bless -p assisted-service` writes it anew.

mod image_mode;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use assisted_blob::{Blob, Key};
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::host::HostRecord;
use assisted_core::model::report::ReportKind;
use assisted_core::policy::Policy;
use assisted_service::generator::{Files, GenerateError, Generator, Payload};
use assisted_testkit::install_config::{ConfigChecker, Input};
use assisted_testkit::{golden, ignition_validate};
use assisted_wire::id::{ClusterId, HostId};
use futures::StreamExt;
use futures::stream;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::openshift::{RELEASES, Site, unbase64};
use assisted_ocl::config::Config;
use assisted_ocl::paths::{BOOTKUBE as BOOTKUBE_PATH, HOOK};

const NOW: &str = "2026-01-01T00:00:00Z";
const VERSION: &str = "4.22.9";

/// Which addresses hosts and cluster have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ip {
    V4,
    V6,
    Dual,
}

use Ip::{Dual, V4, V6};

/// A shape of a cluster, as the texts of its records.
#[derive(Clone)]
struct Shape {
    name: &'static str,
    cluster: Value,
    record: Value,
    hosts: Vec<Value>,
    reports: Vec<Vec<(ReportKind, Value)>>,
    policy: Policy,
    /// Manifests of the user, by their paths.
    manifests: Vec<(&'static str, &'static str)>,
}

fn id(number: usize) -> Uuid {
    Uuid::from_u128(number as u128)
}

impl Shape {
    /// Hosts by roles: masters, arbiters, workers.
    fn new(name: &'static str, [masters, arbiters, workers]: [usize; 3], ip: Ip) -> Self {
        let networks = |v4: &str, v6: &str| match ip {
            V4 => vec![v4.to_owned()],
            V6 => vec![v6.to_owned()],
            Dual => vec![v4.to_owned(), v6.to_owned()],
        };
        let vips =
            |v4: &str, v6: &str| networks(v4, v6).into_iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
        let cidrs = |v4: &str, v6: &str| {
            networks(v4, v6).into_iter().map(|cidr| json!({"cidr": cidr})).collect::<Vec<_>>()
        };
        let pods = networks("10.128.0.0/14", "fd01::/48").into_iter().map(|cidr| {
            let prefix = if cidr.contains(':') { 64 } else { 23 };
            json!({"cidr": cidr, "host_prefix": prefix})
        });
        let cluster = json!({
            "kind": "Cluster", "id": ClusterId(id(99)), "href": "", "name": "lab", "status": "preparing-for-installation",
            "status_info": "", "image_info": {"created_at": NOW}, "created_at": NOW, "updated_at": NOW,
            "openshift_version": VERSION, "ocp_release_image": crate::openshift::release(VERSION),
            "base_dns_domain": "example.com", "control_plane_count": masters, "network_type": "OVNKubernetes",
            "platform": {"type": "baremetal"}, "user_managed_networking": false, "vip_dhcp_allocation": false,
            "hyperthreading": "all", "ssh_public_key": "ssh-ed25519 AAAA lab",
            "cluster_networks": pods.collect::<Vec<_>>(),
            "service_networks": cidrs("172.30.0.0/16", "fd02::/112"),
            "machine_networks": cidrs("192.168.10.0/24", "fd10::/64"),
            "api_vips": vips("192.168.10.5", "fd10::5"),
            "ingress_vips": vips("192.168.10.6", "fd10::6"),
        });
        let roles = std::iter::repeat_n("master", masters)
            .chain(std::iter::repeat_n("arbiter", arbiters))
            .chain(std::iter::repeat_n("worker", workers));
        let (mut hosts, mut reports) = (Vec::new(), Vec::new());
        for (number, role) in roles.enumerate() {
            hosts.push(json!({
                "kind": "Host", "id": HostId(id(number + 1)), "href": "", "status": "preparing-successful",
                "status_info": "", "created_at": NOW, "updated_at": NOW, "infra_env_id": id(98),
                "cluster_id": ClusterId(id(99)), "role": role, "bootstrap": number + 1 == masters,
                "installation_disk_id": format!("/dev/disk/by-id/wwn-{number}"),
            }));
            let addresses = |wanted: [Ip; 2], text: String| {
                if wanted.contains(&ip) { vec![text] } else { Vec::new() }
            };
            let inventory = json!({
                "hostname": format!("{role}-{number}"),
                "interfaces": [{
                    "name": "eth0", "mac_address": format!("52:54:00:00:00:{number:02x}"), "type": "physical",
                    "speed_mbps": 10240, "product": "nic",
                    "ipv4_addresses": addresses([V4, Dual], format!("192.168.10.{}/24", 20 + number)),
                    "ipv6_addresses": addresses([V6, Dual], format!("fd10::{}/64", 20 + number)),
                }],
                "disks": [{"id": "d", "name": "sda", "path": "/dev/sda", "by_path": "/dev/disk/by-path/0",
                    "drive_type": "SSD", "size_bytes": 120_000_000_000_i64, "vendor": "v", "model": "m"}],
                "boot": {"current_boot_mode": "uefi"},
                "system_vendor": {"manufacturer": "Maker", "product_name": "Machine", "serial_number": "1"},
                "memory": {"physical_bytes": 17_179_869_184_i64, "usable_bytes": 17_179_869_184_i64},
                "cpu": {"count": 8, "architecture": "x86_64", "flags": ["sse"], "frequency": 2000.0, "model_name": "cpu"},
                "routes": [{"interface": "eth0", "gateway": "192.168.10.1", "destination": "0.0.0.0", "family": 2}],
            });
            let sources = json!([{"source_name": "clock.lab", "source_state": "synced"}]);
            reports.push(vec![(ReportKind::Inventory, inventory), (ReportKind::NtpSources, sources)]);
        }
        let record = json!({"pull_secret": crate::lab::PULL_SECRET});
        let policy = Policy::default();
        Self { name, cluster, record, hosts, reports, policy, manifests: Vec::new() }
    }

    /// With other members of the cluster.
    fn with(mut self, change: Value) -> Self {
        merge(&mut self.cluster, change);
        self
    }

    /// On a platform whose user provides the networking, where hosts tell each other's addresses.
    fn on(self, platform: &str, unmanaged: bool) -> Self {
        let ids: Vec<Uuid> = (1..=self.hosts.len()).map(id).collect();
        let groups = json!({"IPv4": ids, "IPv6": ids}).to_string();
        let mut shape = self.with(json!({
            "platform": {"type": platform}, "user_managed_networking": unmanaged, "connectivity_majority_groups": groups,
        }));
        if unmanaged {
            merge(&mut shape.cluster, json!({"api_vips": null, "ingress_vips": null}));
        }
        shape
    }

    /// With other members of one host.
    fn host(mut self, number: usize, change: Value) -> Self {
        merge(&mut self.hosts[number], change);
        self
    }

    fn user(mut self, path: &'static str, content: &'static str) -> Self {
        self.manifests.push((path, content));
        self
    }

    fn set(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.policy);
        self
    }

    fn facts(&self) -> Facts {
        let mut record = self.record.clone();
        record["cluster"] = self.cluster.clone();
        let record: ClusterRecord = serde_json::from_value(record).unwrap();
        let hosts = self.hosts.iter().zip(&self.reports).map(|(host, reports)| {
            let record: HostRecord =
                serde_json::from_value(json!({"host": host, "clock_ahead_seconds": 0})).unwrap();
            let mut facts = HostFacts::new(record, NOW.parse().unwrap());
            for (kind, report) in reports {
                facts.put_report(*kind, report.to_string().into());
            }
            facts
        });
        Facts {
            hosts: hosts.collect(),
            cluster: Some(record),
            infra_envs: BTreeMap::new(),
            policy: Arc::new(self.policy.clone()),
            now: NOW.parse().unwrap(),
        }
    }

    /// What the checker of install configs is given of it.
    fn input(&self, site: &Site) -> Input {
        let hosts = self.hosts.iter().zip(&self.reports).map(|(host, reports)| {
            let inventory = reports.iter().find(|(kind, _)| *kind == ReportKind::Inventory);
            let mut host = host.clone();
            host["inventory"] = inventory.unwrap().1.clone();
            host
        });
        Input {
            cluster: self.cluster.clone(),
            hosts: hosts.collect(),
            pull_secret: self.record["pull_secret"].as_str().unwrap().to_owned(),
            overrides: self.cluster["install_config_overrides"].as_str().unwrap_or_default().to_owned(),
            mirrors: vec![(RELEASES.to_owned(), vec![site.releases()])],
            ..Input::default()
        }
    }

    async fn generate(&self, site: &Site, generator: &dyn Generator) -> Files {
        self.try_generate(site, generator).await.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    async fn try_generate(&self, site: &Site, generator: &dyn Generator) -> Result<Files, GenerateError> {
        let folder = site.dir.path().join("files").join(Uuid::new_v4().to_string());
        let blob = Blob::open(folder).await.unwrap();
        let cluster = id(99);
        for (path, content) in &self.manifests {
            let key = |text: String| Key::new(text).unwrap();
            blob.put(&key(format!("{cluster}/manifests/{path}")), *content).await.unwrap();
            let mark = key(format!("{cluster}/manifest-attributes/{path}/user-supplied"));
            blob.put(&mark, "").await.unwrap();
        }
        generator.generate(&self.facts(), Payload::default(), &blob).await
    }
}

/// Members of the change stand in the place of those that are there.
fn merge(value: &mut Value, change: Value) {
    match (value, change) {
        (Value::Object(members), Value::Object(changes)) => {
            for (name, change) in changes {
                merge(members.entry(name).or_insert(Value::Null), change);
            }
        }
        (value, change) => *value = change,
    }
}

const POOL: &str =
    "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata:\n  name: infra\n";
const OVERRIDE: &str = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/own","mode":420,"contents":{"source":"data:,own"}}]}}"#;
const LEASE: &str =
    "lease {\n  interface \"api\";\n  renew 0 2026/10/25 12:48:49;\n  expire 0 2026/10/25 14:48:49;\n}";

fn shapes() -> Vec<Shape> {
    let ha = |name| Shape::new(name, [3, 0, 2], V4);
    let sno = |name, ip| Shape::new(name, [1, 0, 0], ip).on("none", true);
    let encrypted = |name, on: &str, mode: &str| {
        let tang =
            json!([{"url": "http://tang.lab:7500", "thumbprint": "PLjNyRdGw03zlRoGjQYMahSZGu9"}]).to_string();
        let tang_servers = if mode == "tang" { tang } else { String::new() };
        ha(name)
            .with(json!({"disk_encryption": {"enable_on": on, "mode": mode, "tang_servers": tang_servers}}))
    };
    let fencing =
        json!({"address": "redfish+https://bmc/1", "username": "admin", "password": "pw"}).to_string();
    vec![
        ha("baremetal-ha"),
        Shape::new("baremetal-ha-ipv6", [3, 0, 2], V6),
        Shape::new("baremetal-ha-dual", [3, 0, 2], Dual),
        Shape::new("baremetal-compact", [3, 0, 0], V4),
        Shape::new("baremetal-one-worker", [3, 0, 1], V4),
        Shape::new("baremetal-five-masters", [5, 0, 2], V4),
        Shape::new("baremetal-arbiter", [2, 1, 0], V4),
        Shape::new("baremetal-fencing", [2, 0, 0], V4)
            .host(0, json!({"fencing_credentials": fencing}))
            .host(1, json!({"fencing_credentials": fencing})),
        ha("baremetal-schedulable-masters").with(json!({"schedulable_masters": true})),
        ha("baremetal-user-load-balancer")
            .on("baremetal", false)
            .with(json!({"load_balancer": {"type": "user-managed"}})),
        ha("baremetal-leased-vips").with(json!({"vip_dhcp_allocation": true})).leased(),
        ha("baremetal-proxy")
            .with(json!({"http_proxy": "http://proxy.lab:3128", "https_proxy": "http://proxy.lab:3128"})),
        ha("baremetal-time-sources").with(json!({"additional_ntp_source": "a.lab,b.lab"})),
        ha("baremetal-only-time-sources").with(json!({"ntp_sources": "a.lab,192.168.10.1"})),
        encrypted("baremetal-tpm", "all", "tpmv2"),
        encrypted("baremetal-tang", "masters", "tang"),
        Shape::new("baremetal-arbiter-tpm", [2, 1, 0], V4)
            .with(json!({"disk_encryption": {"enable_on": "arbiters", "mode": "tpmv2"}})),
        ha("baremetal-pool")
            .user("manifests/pool.yaml", POOL)
            .host(4, json!({"machine_config_pool_name": "infra"})),
        ha("baremetal-host-override").host(3, json!({"ignition_config_overrides": OVERRIDE})),
        ha("baremetal-user-manifests")
            .user("manifests/two.yaml", "kind: A\n---\nkind: B\n")
            .user("openshift/own.yml", "kind: Own\nspec:\n  values: [1, 2]\n")
            .user("openshift/own.yml.patch", "- {op: add, path: /spec/values/-, value: 3}\n")
            .user("openshift/99-generated.json", "{\"kind\": \"J\"}"),
        ha("baremetal-persistent-boot").boots_persistently(),
        ha("baremetal-overrides").with(
            json!({"install_config_overrides": r#"{"fips":true,"networking":{"networkType":"Calico"}}"#}),
        ),
        sno("none-single-node", V4),
        sno("none-single-node-ipv6", V6),
        sno("none-single-node-name-server", V4)
            .set(|policy| policy.clusters.enable_single_node_dnsmasq = true),
        Shape::new("none-ha", [3, 0, 2], V4).on("none", true),
        Shape::new("none-compact-dual", [3, 0, 0], Dual).on("none", true),
        ha("vsphere-ha").on("vsphere", false),
        ha("nutanix-ha").on("nutanix", false),
        ha("external-oci").on("external", true).with(json!({
            "platform": {"external": {"platform_name": "oci", "cloud_controller_manager": "External"}},
        })),
        ha("baremetal-operators").with(json!({"monitored_operators": [
            {"name": "console", "operator_type": "builtin"}, {"name": "cnv", "operator_type": "olm"},
            {"name": "node-healthcheck", "operator_type": "olm"}, {"name": "lvm", "operator_type": "olm"},
        ]})),
        ha("stage").set(|policy| {
            "https://api.stage.openshift.com".clone_into(&mut policy.service.service_base_url);
        }),
    ]
}

impl Shape {
    fn leased(mut self) -> Self {
        merge(&mut self.record, json!({"api_vip_lease": LEASE, "ingress_vip_lease": LEASE}));
        self
    }

    fn boots_persistently(mut self) -> Self {
        for reports in &mut self.reports {
            merge(&mut reports[0].1, json!({"boot": {"device_type": "persistent"}}));
        }
        self
    }
}

/// What of the files is the same each time, for people to read.
fn stable_parts(files: &Files) -> Value {
    let mut told = Map::new();
    for (name, content) in &files.contents {
        let text = std::str::from_utf8(content).unwrap();
        let value = match name.as_str() {
            // The password is new each time, the install config has a checker of its own.
            "kubeadmin-password" | "install-config.yaml" => json!(null),
            "metadata.json" => {
                let mut metadata: Value = serde_json::from_str(text).unwrap();
                for new in ["clusterID", "infraID"] {
                    assert!(metadata[new].is_string());
                    metadata[new] = json!("new each time");
                }
                metadata
            }
            name if name.ends_with(".ign") => ignition(serde_json::from_str(text).unwrap()),
            _ => json!(text),
        };
        told.insert(name.clone(), value);
    }
    told.insert("manifests".to_owned(), files.manifests.iter().map(|(name, _)| name.as_str()).collect());
    Value::Object(told)
}

/// A config with what its data URLs hold; long texts that others have in common are left out.
fn ignition(mut config: Value) -> Value {
    for file in config["storage"]["files"].as_array_mut().into_iter().flatten() {
        let path = file["path"].as_str().unwrap().to_owned();
        if let Some(source) = file["contents"]["source"].as_str() {
            let (kind, data) = source.split_once(',').unwrap();
            let text = if kind.ends_with(";base64") { unbase64(data) } else { data.to_owned() };
            let lines: Vec<_> = text
                .lines()
                .map(|line| {
                    let new = ["clusterID:", "infrastructureName:"];
                    let found = new.iter().find(|name| line.trim_start().starts_with(**name));
                    let indent = line.len() - line.trim_start().len();
                    found.map_or(line.to_owned(), |name| format!("{:indent$}{name} new each time", ""))
                })
                .collect();
            let long = ["iscsi-nic-reapply", "cleanup-assisted"].iter().any(|part| path.contains(part));
            file["contents"]["source"] =
                if long { json!(format!("{} lines", lines.len())) } else { json!(lines.join("\n")) };
        }
    }
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shapes_as_they_were() {
    let site = Site::new();
    site.release(VERSION, assisted_testkit::oci::OPENSHIFT_INSTALL).await;
    let generator = site.generator();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/generated");
    let shapes = shapes();
    assert!(shapes.len() >= 30);
    let made: Vec<(Shape, Files)> = stream::iter(shapes)
        .map(|shape| {
            let (site, generator) = (&site, &generator);
            async move {
                let files = shape.generate(site, &**generator).await;
                (shape, files)
            }
        })
        .buffered(4)
        .collect()
        .await;
    let mut names = BTreeSet::new();
    for (shape, files) in made {
        let name = shape.name;
        assert!(names.insert(format!("{name}.json")), "{name} is there twice");
        for (file, content) in files.contents.iter().filter(|(file, _)| file.ends_with(".ign")) {
            assert_eq!(ignition_validate(content).unwrap(), "", "{name}: {file}");
        }
        let (_, config) = files.contents.iter().find(|(file, _)| file == "install-config.yaml").unwrap();
        let config = serde_json::from_slice(config).unwrap();
        let checker = ConfigChecker::new(shape.input(&site)).unwrap();
        assert_eq!(checker.complaints(&config), Vec::<String>::new(), "{name}: {config:#}");
        // They have not changed since they were read: whatever is another each time shows here.
        let told = stable_parts(&files);
        golden(dir.join(format!("{name}.json")), &(serde_json::to_string_pretty(&told).unwrap() + "\n"));
    }
    let files =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.collect::<BTreeSet<_>>(), names);
}

const BOOTKUBE: &str = "#!/usr/bin/env bash\nif [ ! -f mco-bootstrap.done ]\nthen\n    cp a/machineconfigoperator-bootstrap-pod.yaml \
                        /etc/kubernetes/manifests/\n    touch mco-bootstrap.done\nfi\n";
const IMAGES: &str = include_str!("../data/image_mode.yaml");

fn image_mode() -> Shape {
    Shape::new("image-mode", [3, 0, 2], V4)
        .with(json!({"install_config_overrides": r#"{"onClusterLayering":{"mode":"Enabled"}}"#}))
        .user("manifests/images.yaml", IMAGES)
        .set(|policy| {
            policy.service.service_base_url = "https://assisted.example.com".to_owned();
            policy.layering.preview = true;
        })
}

/// The files of a config, by their paths, with what they hold.
fn contents(config: &Value) -> BTreeMap<String, String> {
    let files = config["storage"]["files"].as_array().unwrap().iter();
    let read = |file: &Value| {
        let (kind, data) = file["contents"]["source"].as_str()?.split_once(',')?;
        let text = if kind.ends_with(";base64") { unbase64(data) } else { data.to_owned() };
        Some((file["path"].as_str()?.to_owned(), text))
    };
    files.filter_map(read).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn image_mode_lays_everything_down() {
    let site = Site::new();
    let script = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, BOOTKUBE);
    let line = "    printf ',{\"path\":\"/opt/openshift/node-ip\"";
    let more = format!(
        "    printf ',{{\"path\":\"/usr/local/bin/bootkube.sh\",\"mode\":365,\"contents\":{{\"source\":\"data:;base64,{script}\"}}}}'\n{line}"
    );
    let program = assisted_testkit::oci::OPENSHIFT_INSTALL.replace(line, &more);
    assert!(program.contains(&script));
    site.release(VERSION, &program).await;
    let generator = site.generator();
    let files = image_mode().generate(&site, &*generator).await;
    let text = |name: &str| {
        let (_, content) = files.contents.iter().find(|(file, _)| file == name).unwrap();
        std::str::from_utf8(content).unwrap().to_owned()
    };
    for (name, content) in files.contents.iter().filter(|(name, _)| name.ends_with(".ign")) {
        assert_eq!(ignition_validate(content).unwrap(), "", "{name}");
    }
    let made = contents(&serde_json::from_str(&text("bootstrap.ign")).unwrap());
    let config = Config::read(made["/opt/openshift/ocl/config.json"].as_bytes()).unwrap();
    assert_eq!((config.pools.len(), config.master_ips.len()), (2, 3));
    assert!(config.images.docker_registry.contains("@sha256:"), "{:?}", config.images);
    assert_eq!(made[BOOTKUBE_PATH].matches(HOOK).count(), 1);
    // The registry's name is in the pull secret of the installer's copy, and not in the config that is kept.
    let registry = "api-int.lab.example.com:22626";
    assert!(made["/root/.docker/config.json"].contains(registry));
    let kept = text("install-config.yaml");
    assert!(kept.contains("onClusterLayering") && !kept.contains(registry));
    // No MachineOSConfig is left for the operator's bootstrap, and the secret that it names opens the registry.
    let manifests: BTreeMap<_, _> = made
        .iter()
        .filter(|(path, _)| {
            path.starts_with("/opt/openshift/manifests/") || path.starts_with("/opt/openshift/openshift/")
        })
        .collect();
    assert!(!manifests.values().any(|text| text.contains("kind: MachineOSConfig")));
    let secret = manifests.values().find(|text| text.contains("os-image-push")).unwrap();
    let secret: Value = serde_yaml_ng::from_str(secret).unwrap();
    assert!(unbase64(secret["data"][".dockerconfigjson"].as_str().unwrap()).contains(registry));
    for name in ["98-ocl-registry-master", "98-ocl-trust-master", "98-ocl-trust-worker"] {
        assert!(manifests.contains_key(&format!("/opt/openshift/openshift/{name}.yaml")), "{name}");
    }
    // What holds the registry's key is not among the manifests that the API lists.
    assert!(!files.manifests.iter().any(|(name, _)| name.contains("ocl")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn image_mode_refuses_what_it_cant_lay_down() {
    let site = Site::new();
    site.release(VERSION, assisted_testkit::oci::OPENSHIFT_INSTALL).await;
    let generator = site.generator();
    let told = image_mode().try_generate(&site, &*generator).await.unwrap_err().to_string();
    assert!(
        told.contains("bootkube.sh of release 4.22.9 is not supported for on-cluster layering"),
        "{told}"
    );
    let without = Shape { manifests: Vec::new(), ..image_mode() };
    let told = without.try_generate(&site, &*generator).await.unwrap_err().to_string();
    assert!(told.contains("There is no MachineOSConfig for pool master (V09)"), "{told}");
}
