//! One installation: simulated hosts up to their restart from the disk, a service, an API, and the controller between them.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use assisted_client::{Client, EventFilter};
use assisted_config::Settings;
use assisted_controller::{Config, Exit, Intervals, Paths};
use assisted_service::Clock;
use assisted_simhost::drive::{self, Target};
use assisted_simhost::plan::{PULL_SECRET, Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;
use assisted_testkit::layering::{machine_os_config, push_secret};
use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::host::{Host, HostStage, HostStatus};
use assisted_wire::id::ClusterId;
use assisted_wire::inventory::Inventory;
use assisted_wire::operation::OperationId;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_local};

use crate::service::{Files, Server};
use crate::world::{World, found, until};

/// A clock that is ahead by so many seconds as a test lets pass.
pub(crate) fn moved_clock() -> (Arc<AtomicI64>, Clock) {
    let passed = Arc::new(AtomicI64::new(0));
    let ahead = Arc::clone(&passed);
    let now = move || Timestamp::now() + SignedDuration::from_secs(ahead.load(Ordering::SeqCst));
    (passed, Clock::new(now))
}

/// Stands in for OpenShift's client: gathers one line.
const OC: &str = "#!/bin/sh\n[ \"$3 $4 $5\" = \"adm must-gather --dest-dir\" ] && mkdir \"$6\" && echo gathered > \"$6/log\"\n";

/// Simulated seconds per second.
const SPEED: f64 = 300.0;
const LIMIT: Duration = Duration::from_secs(540);
pub(crate) const VERSION: &str = "4.20.1";
pub(crate) const SECRET_TYPE: &str = "kubernetes.io/dockerconfigjson";

/// A cluster with OLM's operators, whose hosts are installed and have restarted.
pub(crate) struct Installation {
    pub(crate) world: World,
    pub(crate) server: Arc<Mutex<Server>>,
    pub(crate) service: Client,
    pub(crate) id: ClusterId,
    pub(crate) dir: TempDir,
    address: SocketAddr,
    hosts: JoinHandle<()>,
}

pub(crate) fn params<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

impl Installation {
    /// Has hosts installed, three of the control plane and a worker, up to the point where somebody tells of their nodes.
    /// `objects` are those of operators.
    pub(crate) async fn begin(objects: Value, clock: Clock) -> Self {
        Self::begin_with(&["nmstate", "metallb"], objects, clock).await
    }

    /// The same with some operators.
    pub(crate) async fn begin_with(operators: &[&str], objects: Value, clock: Clock) -> Self {
        Box::pin(Self::begin_as(operators, objects, clock, None)).await
    }

    /// In image mode, without operators; `location` is where workers' images are built. It is asked for in the install config, or beside it where
    /// they are built on the bootstrap host.
    pub(crate) async fn begin_in_image_mode(location: &str) -> Self {
        Box::pin(Self::begin_as(&[], json!([]), Clock::default(), Some(location))).await
    }

    async fn begin_as(operators: &[&str], objects: Value, clock: Clock, image_mode: Option<&str>) -> Self {
        let world = World::start().await;
        world.let_nodes_in().await;
        let kubeconfig = std::fs::read_to_string(world.kube.kubeconfig()).unwrap();
        let mut settings = Settings::default();
        settings.layering.preview = image_mode.is_some();
        settings.layering.min_openshift_version = "4.20.0-0".to_owned();
        let server = Server::start_with(Files { kubeconfig, objects }, clock, settings).await;
        let (address, service) = (server.address, server.client());
        let operators: Vec<_> = operators.iter().map(|name| json!({"name": name})).collect();
        let cluster = json!({
            "name": "lab", "openshift_version": "4.20", "base_dns_domain": "example.com", "pull_secret": PULL_SECRET,
            "api_vips": [{"ip": "10.0.0.2"}], "ingress_vips": [{"ip": "10.0.0.3"}],
            "olm_operators": operators,
        });
        let id = service.register_cluster(&params(cluster)).await.unwrap().id;
        if let Some(location) = image_mode {
            let objects =
                [machine_os_config("master"), machine_os_config("worker"), push_secret(SECRET_TYPE)];
            let text = objects.map(|object| object.to_string()).join("\n---\n");
            let manifest = json!({"folder": "manifests", "file_name": "os-images.yaml", "content": STANDARD.encode(text)});
            service.create_manifest(id, &params(manifest)).await.unwrap();
            // Either way is the same to the controller.
            if location == "Bootstrap" {
                let asked = json!({"on_cluster_layering": {
                    "mode": "Enabled", "worker_build_location": location, "build_timeout_minutes": 15,
                }});
                service.update_cluster(id, &params(asked)).await.unwrap();
            } else {
                let asked = json!({"onClusterLayering": {
                    "mode": "Enabled", "workerBuildLocation": location, "buildTimeoutMinutes": 15,
                }});
                service.update_cluster_install_config(id, &asked.to_string()).await.unwrap();
            }
        }
        let infra_env = json!({
            "name": "lab", "openshift_version": "4.20", "pull_secret": PULL_SECRET, "cluster_id": id,
        });
        let infra_env = service.register_infra_env(&params(infra_env)).await.unwrap().id;
        let shape = Shape { hosts: 4, ..Shape::of(Topology::Ha) };
        let mut plan = Plan::new(shape, 1, SPEED).unwrap().with_existing(id, infra_env).unwrap();
        (plan.other_controller, plan.hosts_only) = (true, true);
        let hosts = spawn_local(async move {
            let mut simulation = Simulation::new(plan);
            drive::run(&mut simulation, &Target::new(address), LIMIT, |_, _| true).await.unwrap();
        });
        let server = Arc::new(Mutex::new(server));
        let dir = tempfile::tempdir().unwrap();
        let one = Self { world, server, service, id, dir, address, hosts };
        one.set_up().await;
        one
    }

    /// Gives the hosts their roles and labels, and installs them.
    async fn set_up(&self) {
        let hosts = until("hosts that are known", async || {
            let hosts = self.hosts().await;
            (hosts.len() == 4 && hosts.iter().all(|host| !host.inventory.is_empty())).then_some(hosts)
        });
        for (number, host) in hosts.await.into_iter().enumerate() {
            let labels = json!([{"key": "lab.example.com/number", "value": number.to_string()}]);
            let change = match number {
                0 => json!({"host_role": "master", "node_labels": labels}),
                3 => {
                    json!({"host_role": "worker", "node_labels": labels, "machine_config_pool_name": "infra"})
                }
                _ => json!({"host_role": "master"}),
            };
            self.service.update_host(host.infra_env_id.unwrap(), host.id, &params(change)).await.unwrap();
        }
        let all_known =
            async || self.hosts().await.iter().all(|host| host.status == HostStatus::Known).then_some(());
        self.reaches(ClusterStatus::Ready).await;
        until("hosts that can be installed", all_known).await;
        self.service.install_cluster(self.id).await.unwrap();
    }

    pub(crate) async fn cluster(&self) -> Option<Cluster> {
        self.service.get_cluster(self.id).await.ok()
    }

    /// The hosts by their names; none while the service is away.
    pub(crate) async fn hosts(&self) -> Vec<Host> {
        let mut hosts = self.cluster().await.and_then(|cluster| cluster.hosts).unwrap_or_default();
        hosts.sort_by(|a, b| a.requested_hostname.cmp(&b.requested_hostname));
        hosts
    }

    /// Waits for a state of the cluster; where it does not come, what keeps it away is told.
    pub(crate) async fn reaches(&self, status: ClusterStatus) -> Cluster {
        let reached = async || self.cluster().await.filter(|cluster| cluster.status == status);
        if let Some(cluster) = found(reached).await {
            return cluster;
        }
        let cluster = self.cluster().await.unwrap();
        let hosts = cluster.hosts.iter().flatten();
        let hosts =
            hosts.map(|host| format!("{} {}: {}", host.requested_hostname, host.status, host.status_info));
        panic!(
            "the cluster is {} ({}), not {status}; hosts: {:#?}\n{}",
            cluster.status,
            cluster.status_info,
            hosts.collect::<Vec<_>>(),
            cluster.validations_info
        );
    }

    /// Waits until a host has reached a stage.
    pub(crate) async fn reaches_stage(&self, name: &str, stage: HostStage) {
        until(&format!("{name}: {stage}"), async || {
            let hosts = self.hosts().await;
            let host = hosts.iter().find(|host| host.requested_hostname == *name)?;
            (host.progress.as_ref()?.current_stage? == stage).then_some(())
        })
        .await;
    }

    /// Waits until hosts have restarted from their disks.
    pub(crate) async fn restarted(&self, number: usize) -> Vec<Host> {
        use HostStage::{Configuring, Done, Joined, Rebooting, WaitingForIgnition};
        until(&format!("{number} hosts that have restarted"), async || {
            let hosts = self.hosts().await;
            let stage = |host: &Host| host.progress.as_ref().and_then(|progress| progress.current_stage);
            let restarted =
                |stage| matches!(stage, Rebooting | WaitingForIgnition | Configuring | Joined | Done);
            let count = hosts.iter().filter(|host| stage(host).is_some_and(restarted)).count();
            (count >= number).then_some(hosts)
        })
        .await
    }

    /// All hosts' names and addresses, when those of the control plane have restarted: the worker waits for their nodes.
    pub(crate) async fn control_plane(&self) -> Vec<(String, IpAddr)> {
        let hosts = self.restarted(3).await;
        let of = |inventory: &str| {
            let inventory: Inventory = serde_json::from_str(inventory).unwrap();
            let mut addresses =
                inventory.interfaces.into_iter().flatten().filter_map(|one| one.ipv4_addresses);
            let address = addresses.find_map(|all| all.first().cloned()).unwrap();
            address.split('/').next().unwrap().parse().unwrap()
        };
        hosts.iter().map(|host| (host.requested_hostname.clone(), of(&host.inventory))).collect()
    }

    /// A controller's settings, as its Job has them, but fifty times as fast.
    pub(crate) async fn config(&self) -> Config {
        config(&self.world, &self.dir, self.id, &format!("http://{}", self.address)).await
    }

    /// Gives the controller what it gathers the cluster's logs with.
    pub(crate) fn can_gather(&self) {
        let oc = self.dir.path().join("oc");
        std::fs::write(&oc, OC).unwrap();
        std::fs::set_permissions(&oc, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Starts the controller.
    pub(crate) async fn controller(&self, change: impl FnOnce(&mut Config)) -> JoinHandle<Exit> {
        let mut config = self.config().await;
        change(&mut config);
        spawn_local(async move { assisted_controller::run(&config).await.unwrap() })
    }

    pub(crate) async fn events(&self) -> Vec<String> {
        let filter = EventFilter { cluster_id: Some(self.id), ..EventFilter::default() };
        let page = self.service.list_events(&filter).await.unwrap();
        page.events.into_iter().map(|event| event.message).collect()
    }

    /// What the controller has uploaded: names and contents.
    pub(crate) async fn logs(&self) -> Vec<(String, Vec<u8>)> {
        let call = self.service.call(OperationId::DownloadClusterLogs).path("cluster_id", self.id);
        let mut download = call.query("logs_type", Some("controller")).download().await.unwrap();
        let mut bytes = Vec::new();
        while let Some(piece) = download.chunk().await.unwrap() {
            bytes.extend_from_slice(&piece);
        }
        unpacked(&bytes)
    }

    /// Waits until the simulated hosts have nothing more to do.
    pub(crate) async fn ended(self) {
        self.hosts.await.unwrap();
    }
}

/// The files of a compressed archive.
pub(crate) fn unpacked(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
    let read = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        (entry.path().unwrap().display().to_string(), content)
    });
    read.collect()
}

/// A controller's settings, as its Job has them, but fifty times as fast.
pub(crate) async fn config(world: &World, dir: &TempDir, id: ClusterId, url: &str) -> Config {
    let at = |name: &str| -> PathBuf { dir.path().join(name) };
    std::fs::write(at("kubeconfig"), world.account().await).unwrap();
    let paths = Paths {
        token: at("token"),
        bootstrap_kubeconfig: at("kubeconfig"),
        log: at("log"),
        must_gather: at("must-gather"),
        resolvers: Vec::new(),
        oc: at("oc"),
    };
    let read = |name: &str| match name {
        "CLUSTER_ID" => Some(id.to_string()),
        "INVENTORY_URL" => Some(url.to_owned()),
        "OPENSHIFT_VERSION" => Some(VERSION.to_owned()),
        "CHECK_CLUSTER_VERSION" => Some("true".to_owned()),
        _ => None,
    };
    let mut config = Config::read(read, paths).unwrap();
    config.intervals =
        Intervals { summary_limit: Duration::from_secs(20), ..Intervals::default().faster(50) };
    config
}
