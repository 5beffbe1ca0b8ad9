//! Files out of a release in a real registry, made by the installer program in it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assisted_core::rules::install_config::Additions;
use assisted_release::mirror::{Mirror, Pull, Rule};
use assisted_release::{Bounds, Cache, Mirrors, Proxies, Registries, Retry, Transport};
use assisted_service::event::ListEvents;
use assisted_service::generator::openshift::{Openshift, Setup};
use assisted_service::manifest::ManifestFile;
use assisted_testkit::oci;
use assisted_testkit::{Access, Auth, DockerRegistry};
use assisted_wire::cluster::{Cluster, InstallationPreparationStatus};
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::{CreateManifestParams, ManifestFolder};
use serde_json::{Value, json};

use crate::lab::{Database, Lab, Time, eventually, on_both_engines};

on_both_engines![
    from_release_to_ignition,
    registries_that_fail,
    an_installer_that_fails,
    killed_while_it_runs
];

const RELEASES: &str = "quay.io/openshift-release-dev/ocp-release";

/// A registry on this machine that mirrors releases.
pub struct Site {
    registry: DockerRegistry,
    pub dir: tempfile::TempDir,
}

/// The name of a release as the lab's clusters are installed from it.
pub fn release(version: &str) -> String {
    format!("{RELEASES}:{version}-x86_64")
}

impl Site {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(&dir.path().join("images"), &Access::default()).unwrap();
        Self { registry, dir }
    }

    /// Pushes a release under the tag of the lab's clusters, with an installer program.
    pub async fn release(&self, version: &str, program: &str) {
        oci::push_release(&self.registry, version, program.as_bytes()).await.unwrap();
    }

    pub fn generator(&self) -> Arc<Openshift> {
        let registry = self.registry.name();
        let plain = |prefix: &str| Rule {
            prefix: prefix.to_owned(),
            location: None,
            blocked: false,
            insecure: true,
            mirrors: Vec::new(),
        };
        let copy = Mirror { location: format!("{registry}/ocp/release"), insecure: true, pull: Pull::All };
        let releases = Rule { blocked: true, mirrors: vec![copy], ..plain(RELEASES) };
        let mirrors = Mirrors::new([plain(&registry), releases]).unwrap();
        let additions = Additions { mirrors: mirrors.by_digest(), authorities: Vec::new() };
        let proxies = Proxies::Given { http: String::new(), https: String::new(), none_for: String::new() };
        let retry = Retry { attempts: 2, first: Duration::from_millis(1), longest: Duration::from_secs(1) };
        let transport = Transport { proxies, ..Transport::default() };
        let registries = Registries::new(&transport, mirrors, retry).unwrap();
        let cache = Cache::open(&self.dir.path().join("cache"), Bounds { capacity: 0, largest: 1 << 30 });
        let setup = Setup {
            dir: self.dir.path().join("work"),
            invoker: "tests".to_owned(),
            additions,
            authority: "the authority".to_owned(),
            release_mirror: None,
            timeout: Duration::from_secs(300),
            memory: 1 << 30,
            at_once: 2,
        };
        Arc::new(Openshift::new(registries, cache.unwrap(), setup))
    }

    fn leaves_nothing(&self) -> bool {
        let work: &Path = &self.dir.path().join("work");
        std::fs::read_dir(work).map_or(true, |mut left| left.next().is_none())
    }
}

impl Lab {
    async fn prepared(&self, id: ClusterId) -> Cluster {
        let told = |cluster: &Cluster| {
            let last = cluster.last_installation_preparation.as_ref();
            let status = last.and_then(|last| last.status);
            status.is_some_and(|status| status != InstallationPreparationStatus::NotStarted)
        };
        self.until_cluster(id, "the end of the preparation", told).await
    }

    async fn json(&self, id: ClusterId, name: &str) -> Value {
        serde_json::from_str(&self.stored(id, name).await).unwrap()
    }
}

/// The version of the release that a cluster is installed from.
fn version(cluster: &Cluster) -> &str {
    let tag = cluster.ocp_release_image.strip_prefix(RELEASES).and_then(|tag| tag.strip_prefix(':'));
    tag.and_then(|tag| tag.strip_suffix("-x86_64")).unwrap()
}

fn file<'v>(config: &'v Value, path: &str) -> Option<&'v Value> {
    config["storage"]["files"].as_array().unwrap().iter().find(|file| file["path"] == path)
}

/// With the program that `OPENSHIFT_INSTALL` names, if it names one: the real one takes the same way.
async fn from_release_to_ignition(database: Database) {
    let site = Site::new();
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let ready = lab.ready().await;
    let id = ready.id;
    let cluster = lab.get_cluster(id).await;
    let program = std::env::var_os("OPENSHIFT_INSTALL").map(|path| std::fs::read(path).unwrap());
    let program = program.unwrap_or_else(|| oci::OPENSHIFT_INSTALL.into());
    oci::push_release(&site.registry, version(&cluster), &program).await.unwrap();
    let manifest = CreateManifestParams {
        folder: Some(ManifestFolder::Openshift),
        file_name: "cluster-scheduler-02-config.yml.patch_1".to_owned(),
        content: base64("- {op: replace, path: /spec/mastersSchedulable, value: true}\n"),
    };
    lab.service.create_cluster_manifest(&lab.caller, id, manifest).await.unwrap();

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
    let mirrors = json!([{"source": RELEASES, "mirrors": [format!("{}/ocp/release", site.registry.name())]}]);
    assert_eq!(config["imageDigestSources"], mirrors);
    let shown = lab.service.get_cluster_install_config(&lab.caller, id).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(shown.expose()).unwrap()["imageDigestSources"], mirrors);
    let manifest = ManifestFile {
        cluster_id: id,
        folder: ManifestFolder::Openshift,
        file_name: "cluster-scheduler-02-config.yml.patch_1".to_owned(),
    };
    lab.service.download_cluster_manifest(&lab.caller, manifest).await.unwrap();
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

async fn registries_that_fail(database: Database) {
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
        let events = lab.events(ListEvents { cluster_id: Some(id), ..ListEvents::default() }).await.events.0;
        let event = events.iter().find(|event| event.name == "prepare_installation_failed").unwrap();
        assert!(event.message.contains(&last.reason), "{what}: {}", event.message);
        assert!(site.leaves_nothing(), "{what}");
        lab.stop().await;
    }
}

/// The first run of the installer tells that it runs, and never ends; whoever comes after it does.
const STUCK_ONCE: &str = "#!/bin/sh\nif mkdir \"PLACE/began\" 2>/dev/null; then exec sleep 1000; fi\nexec \"PLACE/installer\" \"$@\"\n";

async fn killed_while_it_runs(database: Database) {
    let site = Site::new();
    let place = site.dir.path().to_str().unwrap().to_owned();
    let installer = site.dir.path().join("installer");
    std::fs::write(&installer, oci::OPENSHIFT_INSTALL).unwrap();
    std::fs::set_permissions(&installer, std::fs::Permissions::from_mode(0o755)).unwrap();
    let lab = Lab::generating(&database, Time::default(), site.generator()).await;
    let id = lab.ready().await.id;
    site.release(version(&lab.get_cluster(id).await), &STUCK_ONCE.replace("PLACE", &place)).await;
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

async fn an_installer_that_fails(database: Database) {
    let site = Site::new();
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
