//! A service with a clock of its own, and agents that talk to it as over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use assisted_blob::{Blob, S3};
use assisted_config::Settings;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_seal::Keyring;
use assisted_service::cluster::GetCluster;
use assisted_service::event::{EventPage, ListEvents};
use assisted_service::file::File;
use assisted_service::generator::{Generator, Simulation};
use assisted_service::host::Poll;
use assisted_service::{Background, Builder, Caller, Clock, Error, Service};
use assisted_store::Store;
use assisted_testkit::{AwsServer, Postgres, memory_dir};
use assisted_wire::cluster::Cluster;
use assisted_wire::host::{Host, HostRegistrationResponse, HostStatus};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::infra_env::InfraEnv;
use assisted_wire::inventory::SystemVendor;
use assisted_wire::step::{StepReply, StepType, Steps};
use assisted_wire::work::WorkRow;
use futures::TryStreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

pub const PULL_SECRET: &str =
    r#"{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz"},"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#;
/// Version of the agents: the one that the service wants.
pub const AGENT: &str = "quay.io/lab/agent:1";

/// A database that lives as long as this.
#[derive(Clone)]
pub struct Database {
    pub address: String,
    dir: Arc<TempDir>,
}

impl Database {
    pub fn sqlite() -> Self {
        let dir = memory_dir().unwrap();
        Self { address: format!("sqlite:{}", dir.path().join("db").display()), dir: Arc::new(dir) }
    }

    pub fn postgres() -> Self {
        let address = Postgres::start().unwrap().create_database().unwrap();
        Self { address, dir: Arc::new(memory_dir().unwrap()) }
    }

    /// An empty one of the same kind.
    pub fn another(&self) -> Self {
        if self.address.starts_with("postgres") { Self::postgres() } else { Self::sqlite() }
    }

    /// Where the service keeps files.
    pub fn files(&self) -> std::path::PathBuf {
        self.dir.path().join("files")
    }
}

/// Runs tests on each engine, in modules of these names.
macro_rules! on_engines {
    ($sqlite:ident, $postgres:ident: $($name:ident),+) => {
        mod $sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::lab::Database::sqlite()).await;
            })+
        }
        mod $postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::lab::Database::postgres()).await;
            })+
        }
    };
}
pub(crate) use on_engines;

/// Runs a test on each engine.
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {
        $crate::lab::on_engines! { sqlite, postgres: $($name),+ }
    };
}
pub(crate) use on_both_engines;

/// Runs a test on one engine in CI, and on the other with all that takes long: what it is about is decided above the database.
macro_rules! on_one_engine {
    ($($name:ident),+ $(,)?) => {
        $crate::lab::on_engines! { sqlite, everything_on_postgres: $($name),+ }
    };
}
pub(crate) use on_one_engine;

/// Time that stands still until it is turned.
#[derive(Clone)]
pub struct Time(Arc<AtomicI64>);

impl Default for Time {
    fn default() -> Self {
        let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        Self(Arc::new(AtomicI64::new(start.as_second())))
    }
}

impl Time {
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(now.as_second())))
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn clock(&self) -> Clock {
        let time = self.clone();
        Clock::new(move || time.now())
    }
}

fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    settings.images.agent = AGENT.to_owned();
    settings.http.image_service_base_url = "https://images.example.com".to_owned();
    change(&mut settings);
    settings
}

/// A bucket that no other test uses.
pub fn bucket() -> S3 {
    let bucket = AwsServer::bucket().unwrap();
    S3::at(bucket.endpoint.parse().unwrap(), bucket.name, bucket.access_key, bucket.secret_key)
}

pub struct Lab {
    pub service: Service,
    /// The store that the service writes to.
    pub store: Store,
    pub caller: Caller,
    pub time: Time,
    /// `None`: nothing is at work but the calls themselves.
    background: Option<Background>,
}

impl Lab {
    pub async fn start(database: &Database) -> Self {
        Self::at(database, Time::default()).await
    }

    /// Another replica, or the same after a restart.
    pub async fn at(database: &Database, time: Time) -> Self {
        Self::with(database, time, |_| {}).await
    }

    /// With other settings. The hosts of these tests are installed with files that no cluster would come of.
    pub async fn with(database: &Database, time: Time, change: impl FnOnce(&mut Settings)) -> Self {
        let clock = time.clock();
        Self::build(database, time, clock, change, Arc::new(Simulation)).await
    }

    /// With a generator of the test's own.
    pub async fn generating(database: &Database, time: Time, generator: Arc<dyn Generator>) -> Self {
        let clock = time.clock();
        Self::build(database, time, clock, |_| {}, generator).await
    }

    /// With a clock that runs.
    pub async fn clocked(database: &Database, clock: Clock) -> Self {
        let time = Time::at(clock.now());
        Self::build(database, time, clock, |_| {}, Arc::new(Simulation)).await
    }

    async fn build(
        database: &Database,
        time: Time,
        clock: Clock,
        change: impl FnOnce(&mut Settings),
        generator: Arc<dyn Generator>,
    ) -> Self {
        let store = Store::open(&database.address).await.unwrap();
        let blob = Blob::open(database.files()).await.unwrap();
        let builder = Service::builder(settings(change), store.clone(), blob, generator).unwrap();
        Self::launch(builder.clock(clock), store, time)
    }

    /// With files in a bucket, sealed with these keys.
    pub async fn in_bucket(database: &Database, time: Time, bucket: S3, keys: &Keyring) -> Self {
        let store = Store::open(&database.address).await.unwrap();
        let blob = Blob::bucket(bucket).await.unwrap().sealed(keys.clone());
        let settings =
            settings(|settings| settings.http.service_base_url = "https://assisted.example.com".to_owned());
        let builder = Service::builder(settings, store.clone(), blob, Arc::new(Simulation)).unwrap();
        Self::launch(builder.clock(time.clock()).keys(keys.clone()), store, time)
    }

    fn launch(builder: Builder, store: Store, time: Time) -> Self {
        let (service, background) = builder.start();
        Self { service, store, caller: Caller::admin(Uuid::new_v4()), time, background: Some(background) }
    }

    pub async fn stop(mut self) {
        self.stop_background().await;
    }

    /// Leaves the service with nothing that follows up what calls leave to others.
    pub async fn stop_background(&mut self) {
        if let Some(background) = self.background.take() {
            background.stop().await;
        }
    }

    /// Turns the clock, and has what is due then looked at.
    pub fn pass(&self, seconds: i64) {
        self.time.0.fetch_add(seconds, Ordering::SeqCst);
        self.service.work().notify();
    }

    /// Turns the clock, unless something is due or under way: whoever turns it again and again would take the leases of what
    /// merely takes its time, and work that loses its lease again and again is set aside. Tells whether it was turned.
    pub async fn pass_at_rest(&self, seconds: i64) -> bool {
        let rows = self.service.work().list(&self.caller, None).await.unwrap().rows;
        let is_action = |row: &WorkRow| row.id.starts_with("action.");
        // Actions of a cluster are done one after the other: those behind one that waits wait as well.
        let waits_behind = |row: &WorkRow| {
            let mut others =
                rows.iter().filter(|other| is_action(other) && other.cluster_id == row.cluster_id);
            is_action(row) && others.any(|other| other.state == "waiting")
        };
        let is_at_rest = |row: &WorkRow| match row.state.as_str() {
            "running" => false,
            "queued" => waits_behind(row),
            _ => true,
        };
        let rests = rows.iter().all(is_at_rest);
        if rests {
            self.pass(seconds);
        }
        rests
    }

    /// A cluster of one node, with all that must be told about it.
    pub async fn single_node(&self) -> Cluster {
        self.cluster(json!({"control_plane_count": 1, "high_availability_mode": "None", "base_dns_domain": "example.com"}))
            .await
    }

    pub async fn cluster(&self, more: Value) -> Cluster {
        let mut params = json!({"name": "c", "openshift_version": "4.22", "pull_secret": PULL_SECRET});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        let params = serde_json::from_value(params).unwrap();
        Box::pin(self.service.clusters().register(&self.caller, params)).await.unwrap()
    }

    pub async fn infra_env(&self, cluster_id: Option<ClusterId>) -> InfraEnv {
        let params = json!({"name": "lab", "pull_secret": PULL_SECRET, "cluster_id": cluster_id});
        let params = serde_json::from_value(params).unwrap();
        Box::pin(self.service.infra_envs().register(&self.caller, params)).await.unwrap()
    }

    pub async fn register(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
    ) -> Result<HostRegistrationResponse, Error> {
        let params = json!({"host_id": host, "discovery_agent_version": AGENT});
        let params = serde_json::from_value(params).unwrap();
        Box::pin(self.service.hosts().register(&self.caller, infra_env, params)).await
    }

    /// A host that just registered.
    pub async fn host(&self, infra_env: InfraEnvId) -> HostKey {
        let host_id = HostId::random();
        self.register(infra_env, host_id).await.unwrap();
        HostKey { infra_env_id: infra_env, host_id }
    }

    pub async fn poll(&self, host: HostKey) -> Result<Steps, Error> {
        let timestamp = self.time.now().as_second();
        let poll = Poll { host, timestamp, agent_version: Some(AGENT) };
        let body = self.service.hosts().get_next_steps(&self.caller, poll).await?;
        Ok(serde_json::from_slice(&body).unwrap())
    }

    /// The kinds of steps that a host is told.
    pub async fn steps(&self, host: HostKey) -> Vec<StepType> {
        let steps = self.poll(host).await.unwrap();
        steps.instructions.unwrap().into_iter().filter_map(|step| step.step_type).collect()
    }

    /// Waits until a host is told a step: all that it is told then.
    pub async fn until_told(&self, host: HostKey, step: StepType) -> Vec<StepType> {
        eventually(step.as_str(), async || {
            let steps = self.steps(host).await;
            if steps.contains(&step) { Ok(steps) } else { Err(format!("{steps:?}")) }
        })
        .await
    }

    pub async fn reply(&self, host: HostKey, step: StepType, output: &Value) -> Result<(), Error> {
        let reply = StepReply {
            step_type: Some(step),
            step_id: format!("{step}-00000000"),
            output: output.to_string(),
            ..StepReply::default()
        };
        Box::pin(self.service.hosts().post_step_reply(&self.caller, host, reply)).await
    }

    /// Tells all that a sufficient host tells.
    pub async fn report_all(&self, host: HostKey, number: u8) {
        self.poll(host).await.unwrap();
        self.reply(host, StepType::Inventory, &inventory(number)).await.unwrap();
        self.reply(host, StepType::NtpSynchronizer, &time_sources()).await.unwrap();
        self.reply(host, StepType::DomainResolution, &resolutions()).await.unwrap();
    }

    pub async fn get(&self, host: HostKey) -> Host {
        self.service.hosts().get(&self.caller, host).await.unwrap()
    }

    pub async fn get_cluster(&self, cluster_id: ClusterId) -> Cluster {
        let query = GetCluster { cluster_id, get_unregistered_clusters: false, exclude_hosts: false };
        self.service.clusters().get(&self.caller, query).await.unwrap()
    }

    /// Waits until a host is in a state.
    pub async fn until(&self, host: HostKey, status: HostStatus) -> Host {
        self.until_host(host, &format!("status {status}"), |host| host.status == status).await
    }

    /// Waits until something holds of a host.
    pub async fn until_host(&self, key: HostKey, what: &str, holds: impl Fn(&Host) -> bool) -> Host {
        eventually(what, async || {
            let host = self.get(key).await;
            let seen = format!("{} ({}) {}", host.status, host.status_info, host.validations_info);
            holds(&host).then_some(host).ok_or(seen)
        })
        .await
    }

    /// Waits until something holds of a cluster.
    pub async fn until_cluster(
        &self,
        id: ClusterId,
        what: &str,
        holds: impl Fn(&Cluster) -> bool,
    ) -> Cluster {
        eventually(what, async || {
            let cluster = self.get_cluster(id).await;
            let seen = format!("{} ({}) {}", cluster.status, cluster.status_info, cluster.validations_info);
            holds(&cluster).then_some(cluster).ok_or(seen)
        })
        .await
    }

    pub async fn events(&self, query: ListEvents) -> EventPage {
        self.service.events().list(&self.caller, query).await.unwrap()
    }

    /// Names of a cluster's events, oldest first.
    pub async fn event_names(&self, cluster_id: ClusterId) -> Vec<String> {
        let page = self.events(ListEvents { cluster_id: Some(cluster_id), ..ListEvents::default() }).await;
        page.events.0.into_iter().map(|event| event.name).collect()
    }
}

/// Looks until there is what is waited for; the error tells what is there instead. Only a failure takes the whole time.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let limit = Instant::now() + Duration::from_secs(120);
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) => assert!(Instant::now() < limit, "not {what}: {seen}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What a file holds.
pub async fn content(file: File) -> Vec<u8> {
    let pieces: Vec<_> = file.content.try_collect().await.unwrap();
    pieces.concat()
}

/// Kind and text of a refusal.
pub fn refusal<T: std::fmt::Debug>(outcome: Result<T, Error>) -> (RefusalKind, String) {
    let error = outcome.unwrap_err();
    (error.kind(), error.to_string())
}

/// The inventory of a sufficient machine.
pub fn inventory(number: u8) -> Value {
    json!({
        "hostname": format!("node-{number}"),
        "interfaces": [{
            "name": "eth0", "mac_address": format!("52:54:00:00:00:{number:02x}"), "type": "physical", "mtu": 1500,
            "has_carrier": true, "flags": ["up"], "ipv4_addresses": [format!("192.168.126.{}/24", 10 + number)],
            "ipv6_addresses": [],
        }],
        "disks": [{
            "id": "/dev/disk/by-id/wwn-1", "name": "sda", "path": "/dev/sda", "drive_type": "HDD",
            "size_bytes": 128_849_018_880_i64, "bootable": true, "hctl": "0:0:0:0",
            "installation_eligibility": {"eligible": true, "not_eligible_reasons": []},
        }],
        "boot": {"current_boot_mode": "bios"},
        "system_vendor": {
            "manufacturer": "Maker", "product_name": SystemVendor::SIMULATED_PRODUCT, "serial_number": "1",
        },
        "memory": {"physical_bytes": 34_359_738_368_i64, "usable_bytes": 34_359_738_368_i64},
        "cpu": {"count": 16, "architecture": "x86_64", "flags": [], "frequency": 2000.0},
        "routes": [{"interface": "eth0", "gateway": "192.168.126.1", "destination": "0.0.0.0", "family": 2}],
        "tpm_version": "none",
    })
}

pub fn time_sources() -> Value {
    json!({"ntp_sources": [{"source_name": "time.example.com", "source_state": "synced"}]})
}

/// What the names of the cluster `c` resolve to when DNS is as it should be.
pub fn resolutions() -> Value {
    let found = |name: &str| json!({"domain_name": name, "ipv4_addresses": ["192.168.126.11"]});
    let missing = |name: &str| json!({"domain_name": name, "ipv4_addresses": []});
    json!({"resolutions": [
        found("api.c.example.com"), found("api-int.c.example.com"),
        found("console-openshift-console.apps.c.example.com"), found("quay.io"),
        missing("validateNoWildcardDNS.c.example.com."), missing("validateNoWildcardDNS.c.example.com"),
    ]})
}
