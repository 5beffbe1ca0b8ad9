//! Files out of a release in a real registry, made by the installer program in it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_core::admission::install_config::Additions;
use assisted_core::model::refusal::RefusalKind;
use assisted_release::mirror::{Mirror, Pull, Rule};
use assisted_release::{Bounds, Cache, CacheError, Mirrors, Proxies, Registries, Retry, Transport};
use assisted_service::event::ListEvents;
use assisted_service::file::manifest::ManifestFile;
use assisted_service::generator::openshift::{Openshift, Setup};
use assisted_service::generator::{GenerateError, Generator as _};
use assisted_service::infra_env::DownloadInfraEnvFiles;
use assisted_testkit::oci;
use assisted_testkit::{Access, Auth, Authority, DockerRegistry, Fault, Proxy, ignition_validate, skip};
use assisted_wire::cluster::{Cluster, ClusterStatus, InstallationPreparationStatus};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::{CreateManifestParams, ManifestFolder};
use assisted_wire::secret::Secret;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, PULL_SECRET, Time, content, eventually, on_both_engines, refusal};

on_both_engines![from_release_to_ignition, killed_while_it_runs];

const SSH_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti user@example.com";

/// Bytes of a program that is kept, at the most.
const LARGEST: u64 = 1 << 30;

pub const RELEASES: &str = "quay.io/openshift-release-dev/ocp-release";

/// A registry on this machine that mirrors releases.
pub struct Site {
    registry: DockerRegistry,
    pub dir: tempfile::TempDir,
    /// Bytes for programs that are kept; 0: as many as there are.
    room: u64,
}

/// The name of a release as the lab's clusters are installed from it.
pub fn release(version: &str) -> String {
    format!("{RELEASES}:{version}-x86_64")
}

impl Site {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(&dir.path().join("images"), &Access::default()).unwrap();
        Self { registry, dir, room: 0 }
    }

    /// Where it has the releases.
    pub fn releases(&self) -> String {
        format!("{}/ocp/release", self.registry.name())
    }

    /// Pushes a release under the tag of the lab's clusters, with an installer program.
    pub async fn release(&self, version: &str, program: &str) {
        oci::push_release(&self.registry, version, program.as_bytes()).await.unwrap();
    }

    /// A program that runs the real one, which is put where it looks for it: at `PLACE/installer`.
    fn beside(&self, program: &str) -> String {
        let installer = self.dir.path().join("installer");
        std::fs::write(&installer, oci::OPENSHIFT_INSTALL).unwrap();
        std::fs::set_permissions(&installer, std::fs::Permissions::from_mode(0o755)).unwrap();
        program.replace("PLACE", self.dir.path().to_str().unwrap())
    }

    pub fn generator(&self) -> Arc<Openshift> {
        self.reading(&[&self.registry.name()], Transport::default(), |_| {})
    }

    /// Reads releases from these registries, the first of which has to do; they have to have TLS if somebody is trusted.
    pub fn reading(
        &self,
        registries: &[&str],
        transport: Transport,
        change: impl FnOnce(&mut Setup),
    ) -> Arc<Openshift> {
        let insecure = transport.trusted.is_empty();
        let plain = |prefix: &str| Rule {
            prefix: prefix.to_owned(),
            location: None,
            blocked: false,
            insecure: true,
            mirrors: Vec::new(),
        };
        let copy = |registry: &&str| Mirror {
            location: format!("{registry}/ocp/release"),
            insecure,
            pull: Pull::All,
        };
        let mirrors = registries.iter().map(copy).collect();
        let releases = Rule { blocked: true, mirrors, ..plain(RELEASES) };
        let mirrors = Mirrors::new([plain(&self.registry.name()), releases]).unwrap();
        let additions = Additions { mirrors: mirrors.by_digest(), authorities: Vec::new() };
        let proxies = Proxies::Given { http: String::new(), https: String::new(), none_for: String::new() };
        let retry = Retry { attempts: 3, first: Duration::from_millis(1), longest: Duration::from_secs(1) };
        let registries = Registries::new(&Transport { proxies, ..transport }, mirrors, retry).unwrap();
        let cache = opened(&self.dir.path().join("cache"), self.room);
        let mut setup = Setup {
            dir: self.dir.path().join("work"),
            invoker: "tests".to_owned(),
            additions,
            vendor_authority: String::new(),
            authority: "the authority".to_owned(),
            tls_dir: None,
            release_mirror: None,
            timeout: Duration::from_secs(300),
            memory: 1 << 30,
            at_once: 2,
        };
        change(&mut setup);
        Arc::new(Openshift::new(registries, cache, setup))
    }

    fn leaves_nothing(&self) -> bool {
        let work: &Path = &self.dir.path().join("work");
        std::fs::read_dir(work).map_or(true, |mut left| left.next().is_none())
    }
}

/// A cache that nobody else has. A program that another test starts has its lock, too, until it has begun to run.
fn opened(dir: &Path, capacity: u64) -> Cache {
    let begun = Instant::now();
    loop {
        match Cache::open(dir, Bounds { capacity, largest: LARGEST }) {
            Err(CacheError::Busy(_)) if begun.elapsed() < Duration::from_secs(20) => {
                std::thread::sleep(Duration::from_millis(20));
            }
            cache => return cache.unwrap(),
        }
    }
}

impl Lab {
    pub async fn prepared(&self, id: ClusterId) -> Cluster {
        let told = |cluster: &Cluster| {
            let last = cluster.last_installation_preparation.as_ref();
            let status = last.and_then(|last| last.status);
            status.is_some_and(|status| status != InstallationPreparationStatus::NotStarted)
        };
        self.until_cluster(id, "the end of the preparation", told).await
    }

    /// What was told of preparations that failed.
    async fn failures(&self, id: ClusterId) -> Vec<String> {
        let events = self.events(ListEvents { cluster_id: Some(id), ..ListEvents::default() }).await.events.0;
        let failures = events.into_iter().filter(|event| event.name == "prepare_installation_failed");
        failures.map(|event| event.message).collect()
    }

    async fn json(&self, id: ClusterId, name: &str) -> Value {
        serde_json::from_str(&self.stored(id, name).await).unwrap()
    }
}

/// The version of the release that a cluster is installed from.
pub fn version(cluster: &Cluster) -> &str {
    let tag = cluster.ocp_release_image.strip_prefix(RELEASES).and_then(|tag| tag.strip_prefix(':'));
    tag.and_then(|tag| tag.strip_suffix("-x86_64")).unwrap()
}

fn file<'v>(config: &'v Value, path: &str) -> Option<&'v Value> {
    config["storage"]["files"].as_array().unwrap().iter().find(|file| file["path"] == path)
}

async fn from_release_to_ignition(database: Database) {
    Box::pin(generated_by(oci::OPENSHIFT_INSTALL.as_bytes(), database)).await;
}

/// The real one takes the same way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_release_to_ignition_with_the_installer_that_is_named() {
    match std::env::var_os("OPENSHIFT_INSTALL") {
        Some(path) => Box::pin(generated_by(&std::fs::read(path).unwrap(), Database::sqlite())).await,
        None => skip("OPENSHIFT_INSTALL names no installer"),
    }
}

async fn generated_by(program: &[u8], database: Database) {
    let site = Site::new();
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let ready = lab.ready().await;
    let id = ready.id;
    let cluster = lab.get_cluster(id).await;
    oci::push_release(&site.registry, version(&cluster), program).await.unwrap();
    let manifest = CreateManifestParams {
        folder: Some(ManifestFolder::Openshift),
        file_name: "cluster-scheduler-02-config.yml.patch_1".to_owned(),
        content: base64("- {op: replace, path: /spec/mastersSchedulable, value: true}\n"),
    };
    lab.service.files().create_cluster_manifest(&lab.caller, id, manifest).await.unwrap();

    lab.install(id).await;
    let cluster = lab.prepared(id).await;
    let last = cluster.last_installation_preparation.clone().unwrap();
    assert_eq!(last.status, Some(InstallationPreparationStatus::Success), "{}", last.reason);
    assert!(site.leaves_nothing());

    let mut expected = vec![
        "bootstrap.ign".to_owned(),
        "install-config.yaml".to_owned(),
        "kubeadmin-password".to_owned(),
        "kubeconfig-noingress".to_owned(),
        "master.ign".to_owned(),
        "metadata.json".to_owned(),
        "worker.ign".to_owned(),
    ];
    expected.extend(ready.hosts.iter().map(|host| format!("master-{}.ign", host.host_id)));
    expected.sort();
    let mut names = lab.file_names(id).await;
    names.retain(|name| !name.starts_with("manifest"));
    names.sort();
    assert_eq!(names, expected);

    let bootstrap = lab.json(id, "bootstrap.ign").await;
    let text = |path: &str| {
        let source = file(&bootstrap, path).unwrap()["contents"]["source"].as_str().unwrap();
        let (_, data) = source.split_once(',').unwrap();
        if source.contains(";base64,") { unbase64(data) } else { data.to_owned() }
    };
    assert!(
        text("/opt/openshift/manifests/cvo-overrides.yaml")
            .contains(&cluster.openshift_cluster_id.unwrap().to_string())
    );
    assert!(
        text("/opt/openshift/manifests/cluster-scheduler-02-config.yml").contains("mastersSchedulable: true")
    );
    assert!(text("/opt/openshift/openshift/50-masters-chrony-configuration.yaml").contains("MachineConfig"));
    assert!(file(&bootstrap, "/opt/openshift/assisted-install-bootstrap").is_some());
    let id_told = lab.json(id, "metadata.json").await["clusterID"].as_str().map(str::to_owned);
    assert_eq!(id_told, cluster.openshift_cluster_id.map(|id| id.to_string()));

    let host = lab.json(id, &format!("master-{}.ign", ready.hosts[0].host_id)).await;
    assert_eq!(
        host["ignition"]["config"]["merge"][0]["source"],
        "https://192.168.126.100:22623/config/master"
    );
    assert!(file(&host, "/etc/hostname").is_some());
    assert!(file(&host, "/etc/assisted-service/service-ca-cert.crt").is_some());
    let config = lab.json(id, "install-config.yaml").await;
    let mirrors = json!([{"source": RELEASES, "mirrors": [site.releases()]}]);
    assert_eq!(config["imageDigestSources"], mirrors);
    let shown = lab.service.clusters().get_install_config(&lab.caller, id).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(shown.expose()).unwrap()["imageDigestSources"], mirrors);
    let manifest = ManifestFile {
        cluster_id: id,
        folder: ManifestFolder::Openshift,
        file_name: "cluster-scheduler-02-config.yml.patch_1".to_owned(),
    };
    lab.service.files().download_cluster_manifest(&lab.caller, manifest).await.unwrap();

    // The program that made them is told of, for machines.
    let of_cluster = ListEvents { cluster_id: Some(id), ..ListEvents::default() };
    let measured = lab.measured_events(of_cluster).await;
    let used: Vec<_> = measured.iter().filter(|(kind, _)| kind == "installercache.release.metrics").collect();
    let [(_, used)] = used.as_slice() else { panic!("{measured:?}") };
    assert_eq!((&used["release_id"], &used["cached"]), (&json!(cluster.ocp_release_image), &json!(false)));
    assert!(used["extract_duration"].as_f64().is_some_and(|seconds| seconds >= 0.0), "{used}");
    let time = |name: &str| used[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(time("start_time") <= time("end_time"), "{used}");
    let mut parts = version(&cluster).split('.');
    let minor = [parts.next().unwrap(), parts.next().unwrap()].join(".");
    let line = format!(r#"release_cache{{hit="false",releaseId="{minor}"}}"#);
    assert_eq!(lab.metric(&line).await, Some(1.0));
    lab.stop().await;
}

/// A program is there for whoever comes next, until another needs its room; each of it is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_are_kept_and_give_way() {
    let (site, database) = (Site { room: LARGEST, ..Site::new() }, Database::sqlite());
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let other = format!("{}\n# Of another build.\n", oci::OPENSHIFT_INSTALL);
    // Fetched, there, and in the place of the first.
    let rounds = [
        (oci::OPENSHIFT_INSTALL, [Some(1.0), None, None]),
        (oci::OPENSHIFT_INSTALL, [Some(1.0), Some(1.0), None]),
        (other.as_str(), [Some(2.0), Some(1.0), Some(1.0)]),
    ];
    for (program, expected) in rounds {
        let id = lab.ready().await.id;
        let cluster = lab.get_cluster(id).await;
        let version = version(&cluster);
        site.release(version, program).await;
        let (status, reason) = attempt(&lab, id).await;
        assert_eq!(status, Some(InstallationPreparationStatus::Success), "{reason}");
        let minor = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        let lines = [
            format!(r#"release_cache{{hit="false",releaseId="{minor}"}}"#),
            format!(r#"release_cache{{hit="true",releaseId="{minor}"}}"#),
            r#"release_cache_eviction{success="true"}"#.to_owned(),
        ];
        eventually("counted", async || {
            let mut counted = Vec::new();
            for line in &lines {
                counted.push(lab.metric(line).await);
            }
            if counted == expected { Ok(()) } else { Err(format!("{counted:?}, not {expected:?}")) }
        })
        .await;
    }
    lab.stop().await;
}

/// What is wrong with a registry: how it comes about, and what is told of it.
struct Wrong {
    what: &'static str,
    access: Access,
    spoil: fn(&Site),
    told: &'static [&'static str],
}

impl Site {
    /// The files of the registry whose path holds one part and ends with another.
    fn stored(&self, part: &str, end: &str) -> Vec<PathBuf> {
        let mut folders = vec![self.dir.path().join("images")];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.to_str().is_some_and(|path| path.contains(part) && path.ends_with(end)) {
                    found.push(path);
                }
            }
        }
        found
    }

    /// The layers: what is packed.
    fn layers(&self) -> Vec<PathBuf> {
        let mut layers = self.stored("/blobs/", "/data");
        layers.retain(|path| std::fs::read(path).unwrap().starts_with(&[0x1f, 0x8b]));
        layers
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_config_of_an_image_with_its_release() {
    let (site, database) = (Site::new(), Database::sqlite());
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let cluster = lab.single_node().await;
    site.release(version(&cluster), oci::OPENSHIFT_INSTALL).await;
    let card = json!({"mac_address": "52:54:00:00:00:01", "logical_nic_name": "eth0"});
    let params = json!({
        "name": "apart", "image_type": "disconnected-iso", "pull_secret": PULL_SECRET,
        "cluster_id": cluster.id, "openshift_version": "4.22", "rendezvous_ip": "192.168.126.10",
        "additional_ntp_sources": "one.example.com,two.example.com", "ssh_authorized_key": SSH_KEY,
        "proxy": {"http_proxy": "http://proxy.example.com:3128"},
        "static_network_config": [
            {"network_yaml": "interfaces:\n- {name: eth0, type: ethernet, state: up}\n", "mac_interface_map": [card]},
        ],
    });
    let params = serde_json::from_value(params).unwrap();
    let infra_env = Box::pin(lab.service.infra_envs().register(&lab.caller, params)).await.unwrap();
    let query = DownloadInfraEnvFiles {
        infra_env_id: infra_env.id,
        file_name: "discovery.ign".to_owned(),
        discovery_iso_type: None,
        mac: None,
        ipxe_script_type: None,
    };
    let made = lab.service.infra_envs().download_files(&lab.caller, query.clone()).await.unwrap();
    let config = content(made).await;
    assert_eq!(ignition_validate(&config).unwrap(), "");
    let config: Value = serde_json::from_slice(&config).unwrap();
    let given = |name: &str| {
        let source = file(&config, &format!("/etc/assisted/{name}")).unwrap()["contents"]["source"].clone();
        let content = source.as_str().unwrap().split_once("base64,").unwrap().1;
        unbase64(content)
    };
    let object = |name: &str| serde_json::from_str::<Value>(given(name).trim_start_matches("---")).unwrap();
    let label = json!({"agent-install.openshift.io/infraenv-id": infra_env.id});
    assert_eq!(
        object("cluster-manifests/infraenv.yaml")["spec"],
        json!({
            "pullSecretRef": {"name": "pull-secret"}, "cpuArchitecture": "x86_64", "sshAuthorizedKey": SSH_KEY,
            "proxy": {"httpProxy": "http://proxy.example.com:3128"},
            "additionalNTPSources": ["one.example.com", "two.example.com"],
            "nmStateConfigLabelSelector": {"matchLabels": label},
        })
    );
    let secret = object("cluster-manifests/pull-secret.yaml");
    assert_eq!(secret["stringData"][".dockerconfigjson"], PULL_SECRET);
    let network = object("cluster-manifests/nmstateconfig.yaml");
    assert_eq!(network["metadata"]["labels"], label);
    assert_eq!(network["spec"]["interfaces"], json!([{"name": "eth0", "macAddress": "52:54:00:00:00:01"}]));
    assert_eq!(network["spec"]["config"]["interfaces"][0]["state"], "up");
    assert!(
        given("mirror/registries.conf").contains("registry.appliance.openshift.com:5000/openshift/release")
    );
    assert_eq!(object("agent-config.yaml")["rendezvousIP"], "192.168.126.10");
    assert_eq!(file(&config, "/etc/assisted/interactive-ui").unwrap()["contents"]["source"], "data:,");
    assert!(site.leaves_nothing());
    lab.stop().await;

    let database = Database::sqlite();
    let lab = Lab::simulating(&database).await;
    let cluster = lab.single_node().await;
    let params = json!({
        "name": "apart", "image_type": "disconnected-iso", "pull_secret": PULL_SECRET,
        "cluster_id": cluster.id, "openshift_version": "4.22",
    });
    let params = serde_json::from_value(params).unwrap();
    let infra_env = Box::pin(lab.service.infra_envs().register(&lab.caller, params)).await.unwrap();
    let query = DownloadInfraEnvFiles { infra_env_id: infra_env.id, ..query };
    let (kind, why) = refusal(lab.service.infra_envs().download_files(&lab.caller, query).await);
    assert!(kind == RefusalKind::Conflict && why.contains("without GENERATOR=simulation"), "{kind:?} {why}");
    lab.stop().await;
}

// The database has no part in what fails outside of it: one is enough.

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registries_that_fail() {
    let database = Database::sqlite();
    let wrongs = [
        Wrong {
            what: "no such image",
            access: Access::default(),
            spoil: |site| {
                for link in site.stored("/tags/", "/link") {
                    std::fs::remove_file(link).unwrap();
                }
            },
            told: &["/ocp/release:", "no such image"],
        },
        Wrong {
            what: "a layer is missing",
            access: Access::default(),
            spoil: |site| {
                for layer in site.layers() {
                    std::fs::remove_file(layer).unwrap();
                }
            },
            told: &["/ocp/release", "sha256:"],
        },
        Wrong {
            what: "another content",
            access: Access::default(),
            spoil: |site| {
                for layer in site.layers() {
                    let mut content = std::fs::read(&layer).unwrap();
                    *content.last_mut().unwrap() ^= 1;
                    std::fs::write(&layer, content).unwrap();
                }
            },
            told: &["/ocp/release", "sha256:", "digest"],
        },
        Wrong {
            what: "cut off",
            access: Access::default(),
            spoil: |site| {
                for layer in site.layers() {
                    let content = std::fs::read(&layer).unwrap();
                    std::fs::write(&layer, &content[..content.len() / 2]).unwrap();
                }
            },
            told: &["/ocp/release", " bytes of sha256:"],
        },
        Wrong {
            what: "not for everybody",
            access: Access { auth: Auth::Basic, ..Access::default() },
            spoil: |_| {},
            told: &["the pull secret has no entry for this repository: add one"],
        },
    ];
    let lab_of = |site: &Site| Lab::generating(&database, Time::default(), site.generator());
    for Wrong { what, access, spoil, told } in wrongs {
        let mut site = Site::new();
        let lab = lab_of(&site).await;
        let id = lab.ready().await.id;
        site.release(version(&lab.get_cluster(id).await), oci::OPENSHIFT_INSTALL).await;
        spoil(&site);
        let lab = match access.auth {
            Auth::Anyone => lab,
            // The same images behind a door.
            _ => {
                let time = lab.time.clone();
                lab.stop().await;
                site.registry = DockerRegistry::start(&site.dir.path().join("images"), &access).unwrap();
                Lab::generating(&database, time, site.generator()).await
            }
        };
        lab.install(id).await;
        let last = lab.prepared(id).await.last_installation_preparation.unwrap();
        assert_eq!(last.status, Some(InstallationPreparationStatus::Failed), "{what}");
        for told in told.iter().chain([&site.registry.name().as_str()]) {
            assert!(last.reason.contains(told), "{what}: {}", last.reason);
        }
        let failures = lab.failures(id).await;
        assert!(failures[0].contains(&last.reason), "{what}: {failures:?}");
        assert!(site.leaves_nothing(), "{what}");
        lab.stop().await;
    }
}

/// What stands between the service and a registry.
struct Way {
    what: &'static str,
    /// A part of the path of what is asked for, how often it goes wrong, and how.
    faults: &'static [(&'static str, usize, Fault)],
    /// What is told; nothing: it is done all the same.
    told: &'static [&'static str],
}

const ALWAYS: usize = usize::MAX;

const WAYS: &[Way] = &[
    Way {
        what: "overloaded for a while",
        faults: &[("/manifests/", 2, Fault::Status(429, Some("0")))],
        told: &[],
    },
    Way { what: "failing for a while", faults: &[("/blobs/", 2, Fault::Status(502, None))], told: &[] },
    Way { what: "broken off", faults: &[("/blobs/", 1, Fault::Break(100))], told: &[] },
    Way { what: "silent for a while", faults: &[("/blobs/", 1, Fault::Silence(100))], told: &[] },
    Way {
        what: "overloaded",
        faults: &[("/manifests/", ALWAYS, Fault::Status(429, Some("3600")))],
        told: &["the server is overloaded and asks to wait 3600 s: try later, or use a mirror"],
    },
    Way {
        what: "failing",
        faults: &[("/manifests/", ALWAYS, Fault::Status(503, None))],
        told: &["the server is overloaded"],
    },
    Way {
        what: "broken",
        faults: &[("/manifests/", ALWAYS, Fault::Status(500, None))],
        told: &["the server fails with status 500: look at its log, or try later"],
    },
    Way {
        what: "broken off again and again",
        faults: &[("/blobs/", ALWAYS, Fault::Break(100))],
        told: &["the server can't be reached"],
    },
    Way {
        what: "silent",
        faults: &[("/manifests/", ALWAYS, Fault::Silence(0))],
        told: &["the server can't be reached"],
    },
    Way {
        what: "altered on the way",
        faults: &[("/blobs/", ALWAYS, Fault::Alter)],
        told: &[
            "the content has the digest sha256:",
            "the registry or something on the way to it alters images",
        ],
    },
    Way {
        what: "not allowed",
        faults: &[("/manifests/", ALWAYS, Fault::Status(403, None))],
        told: &["the account of the pull secret may not read this repository"],
    },
];

/// One attempt to install; the cluster is ready again when it has failed.
async fn attempt(lab: &Lab, id: ClusterId) -> (Option<InstallationPreparationStatus>, String) {
    lab.until_status(id, ClusterStatus::Ready).await;
    lab.install(id).await;
    let last = lab.prepared(id).await.last_installation_preparation.unwrap();
    (last.status, last.reason)
}

#[tokio::test]
async fn ways_that_are_bad() {
    let database = Database::sqlite();
    let site = Site::new();
    let proxy = Proxy::start(site.registry.address()).await;
    let name = proxy.name();
    let mut time = Time::default();
    for Way { what, faults, told } in WAYS {
        // Only where silence is the fault is it worth while to be impatient: a busy machine is slow to answer.
        let is_silent = faults.iter().any(|(.., fault)| matches!(fault, Fault::Silence(_)));
        let mut transport = Transport::default();
        if is_silent {
            transport.silence = Duration::from_secs(2);
        }
        let lab = Lab::generating(&database, time.clone(), site.reading(&[&name], transport, |_| {})).await;
        let id = lab.ready().await.id;
        site.release(version(&lab.get_cluster(id).await), oci::OPENSHIFT_INSTALL).await;
        for (part, times, fault) in *faults {
            proxy.spoil(part, *times, fault.clone());
        }
        let (status, reason) = attempt(&lab, id).await;
        if told.is_empty() {
            assert_eq!(status, Some(InstallationPreparationStatus::Success), "{what}: {reason}");
        } else {
            assert_eq!(status, Some(InstallationPreparationStatus::Failed), "{what}");
            for told in told.iter().chain(&[name.as_str()]) {
                assert!(reason.contains(told), "{what}: {reason}");
            }
            let failures = lab.failures(id).await;
            assert!(failures.iter().any(|message| message.contains(&reason)), "{what}: {failures:?}");
            // Mended, it goes on.
            proxy.mend();
            let (status, reason) = attempt(&lab, id).await;
            assert_eq!(status, Some(InstallationPreparationStatus::Success), "{what}, mended: {reason}");
        }
        proxy.mend();
        assert!(site.leaves_nothing(), "{what}");
        time = lab.time.clone();
        lab.stop().await;
    }
}

#[tokio::test]
async fn places_that_are_bad() {
    let database = Database::sqlite();
    let site = Site::new();
    let images = site.dir.path().join("images");
    let authority = Authority::new("lab").unwrap();
    let expired = authority.registry(&images, &["127.0.0.1"], (2020, 2021)).unwrap();
    let ipv6 = DockerRegistry::start(&images, &Access { ipv6: true, ..Access::default() }).unwrap();
    let trusting = || Transport { trusted: vec![authority.pem.clone()], ..Transport::default() };
    let (first, second) =
        (Proxy::start(site.registry.address()).await, Proxy::start(site.registry.address()).await);
    first.spoil("/", ALWAYS, Fault::Status(404, None));
    let nobody = "127.0.0.1:1".to_owned();
    let cases = [
        ("expired", vec![expired.name()], trusting(), Some("the server's certificate has expired: renew it")),
        ("IPv6 only", vec![ipv6.name()], Transport::default(), None),
        ("a mirror that lacks it", vec![first.name(), second.name()], Transport::default(), None),
        ("nobody there", vec![nobody], Transport::default(), Some("the server can't be reached")),
    ];
    let mut time = Time::default();
    for (what, places, transport, told) in cases {
        let places: Vec<_> = places.iter().map(String::as_str).collect();
        let lab = Lab::generating(&database, time, site.reading(&places, transport, |_| {})).await;
        let id = lab.ready().await.id;
        site.release(version(&lab.get_cluster(id).await), oci::OPENSHIFT_INSTALL).await;
        let (status, reason) = attempt(&lab, id).await;
        match told {
            None => assert_eq!(status, Some(InstallationPreparationStatus::Success), "{what}: {reason}"),
            Some(told) => {
                assert_eq!(status, Some(InstallationPreparationStatus::Failed), "{what}");
                assert!(reason.contains(told), "{what}: {reason}");
                let failures = lab.failures(id).await;
                assert!(failures.iter().any(|message| message.contains(&reason)), "{what}: {failures:?}");
            }
        }
        assert!(site.leaves_nothing(), "{what}");
        time = lab.time.clone();
        lab.stop().await;
    }
    assert!(!first.seen("/manifests/").is_empty() && !second.seen("/manifests/").is_empty());
}

/// Goes on only with the certificates that are given.
const CERTIFIED: &str = "#!/bin/sh\n[ \"$(cat \"$4/tls/root-ca.crt\")\" = given ] && [ \"$OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS\" = true ] || exit 9\nexec \"PLACE/installer\" \"$@\"\n";

#[tokio::test]
async fn certificates_and_authorities_that_are_given() {
    let site = Site::new();
    let tls = site.dir.path().join("tls");
    std::fs::create_dir_all(tls.join("no-file")).unwrap();
    std::fs::write(tls.join("root-ca.crt"), "given").unwrap();
    let vendor = Authority::new("vendor").unwrap().pem;
    let generator = site.reading(&[&site.registry.name()], Transport::default(), |setup| {
        setup.tls_dir = Some(tls);
        setup.vendor_authority.clone_from(&vendor);
    });
    let database = Database::sqlite();
    let lab = Lab::generating(&database, Time::default(), generator).await;
    let id = lab.ready().await.id;
    let program = site.beside(CERTIFIED);
    site.release(version(&lab.get_cluster(id).await), &program).await;
    let (status, reason) = attempt(&lab, id).await;
    assert_eq!(status, Some(InstallationPreparationStatus::Success), "{reason}");
    let config = lab.json(id, "install-config.yaml").await;
    assert_eq!(config["additionalTrustBundle"], vendor.trim());
    let shown = lab.service.clusters().get_install_config(&lab.caller, id).await.unwrap();
    assert!(!shown.expose().contains("additionalTrustBundle"), "the vendor's authority is not for review");
    lab.stop().await;
}

/// The first run of the installer tells that it runs, and never ends; whoever comes after it does.
const STUCK_ONCE: &str = "#!/bin/sh\nif mkdir \"PLACE/began\" 2>/dev/null; then exec sleep 1000; fi\nexec \"PLACE/installer\" \"$@\"\n";

async fn killed_while_it_runs(database: Database) {
    let site = Site::new();
    let program = site.beside(STUCK_ONCE);
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let id = lab.ready().await.id;
    site.release(version(&lab.get_cluster(id).await), &program).await;
    lab.install(id).await;
    let began = site.dir.path().join("began");
    eventually("begun", async || began.is_dir().then_some(()).ok_or_else(String::new)).await;
    let time = lab.time.clone();
    // Nothing is given back, as when a process is killed.
    drop(lab);
    let lab = Lab::generating(&database, time, site.generator()).await;
    if database.address.starts_with("postgres") {
        // The lease of the dead runs out.
        lab.pass(11);
    }
    let last = lab.prepared(id).await.last_installation_preparation.unwrap();
    assert_eq!(last.status, Some(InstallationPreparationStatus::Success), "{}", last.reason);
    assert!(site.leaves_nothing());
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installer_that_fails() {
    let (site, database) = (Site::new(), Database::sqlite());
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let id = lab.ready().await.id;
    let cluster = lab.get_cluster(id).await;
    site.release(version(&cluster), "#!/bin/sh\necho level=fatal msg=no >&2\nexit 3\n").await;
    lab.install(id).await;
    let last = lab.prepared(id).await.last_installation_preparation.unwrap();
    let expected = format!(
        "failed generating install config for cluster {id}: error running openshift-install manifests,  \
         level=fatal msg=no\n: exit status 3"
    );
    assert_eq!((last.status, last.reason), (Some(InstallationPreparationStatus::Failed), expected));
    assert!(site.leaves_nothing());
    lab.stop().await;
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

pub fn unbase64(text: &str) -> String {
    use base64::Engine;
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
}

/// The agent of Ironic is taken from the first image that serves the machines: what metal3 names, or what a release has.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_image_serves_and_a_release_holds_is_read_from_a_registry() {
    const NAME: &str = "ironic-agent";
    let site = Site::new();
    let (generator, secret) = (site.generator(), Secret::from(PULL_SECRET));
    let image = |architecture: &str| {
        let layer = oci::Layer::new().unwrap().file("etc/x", architecture.as_bytes()).unwrap();
        oci::Image::new(architecture, vec![layer.finish().unwrap()]).unwrap()
    };
    let arm = oci::push(&site.registry, "ironic/agent", None, &image("arm64")).await.unwrap();
    let both = oci::Index::new(vec![image("amd64"), image("arm64")]);
    let both = oci::push_index(&site.registry, "ironic/agent", Some("both"), &both).await.unwrap();
    assert_eq!(generator.architectures(&arm, &secret).await.unwrap(), [CpuArchitecture::Arm64]);
    let served = generator.architectures(&both, &secret).await.unwrap();
    assert_eq!(served, [CpuArchitecture::X8664, CpuArchitecture::Arm64]);
    let missing = arm.replace("ironic/agent", "ironic/none");
    assert!(matches!(generator.architectures(&missing, &secret).await, Err(GenerateError::Refused(_))));

    let made = oci::ReleaseImage {
        version: "4.20.0".to_owned(),
        architecture: "amd64".to_owned(),
        components: vec![(NAME.to_owned(), both.clone())],
        operator: Vec::new(),
    };
    oci::push(&site.registry, "ocp/release", Some("4.20.0-x86_64"), &made.build().unwrap()).await.unwrap();
    let found = generator.component(&release("4.20.0"), NAME, &secret).await.unwrap();
    assert_eq!((found.image, found.architectures), (both, vec![CpuArchitecture::X8664]));
    let other = generator.component(&release("4.20.0"), "no-such-part", &secret).await;
    assert!(matches!(other, Err(GenerateError::Refused(_))), "{other:?}");
    let other = generator.component(&release("4.21.0"), NAME, &secret).await;
    assert!(matches!(other, Err(GenerateError::Refused(_))), "{other:?}");
}
