//! Each action fails at each of its steps, before the step is done and after it, twice. It ends as it does where nothing fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use assisted_base::failpoint::{Fault, Moment, Script, StepName};
use assisted_blob::{Blob, Key};
use assisted_core::model::action::Action;
use assisted_core::model::cluster::PayloadImages;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_service::generator::{Files, GenerateError, Generator, Payload, Simulation};
use assisted_store::Deleted;
use assisted_testkit::IdentityProvider;
use assisted_wire::cluster::{ClusterStatus, InstallationPreparationStatus};
use assisted_wire::id::ClusterId;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::dns::Keeper;
use crate::installation::Ready;
use crate::lab::{Database, Lab, Time, eventually, on_both_engines};
use crate::subscription;

on_both_engines![everything_at_each_step_of_each_action];

const CA: &str = include_str!("../data/ca.pem");

/// How often a step fails before it goes well: fewer times than an action is tried.
const TIMES: u32 = 2;

/// When a cluster that was deregistered goes for good, and a bit more, in seconds.
const RETENTION: i64 = 74 * 3600;

/// What a single node is reached by, as the name server tells it.
const RECORDS: [&str; 3] = [
    "api.c.example.com A 192.168.126.11",
    "api-int.c.example.com A 192.168.126.11",
    "*.apps.c.example.com A 192.168.126.11",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Generate,
    CreateDnsRecords,
    DeleteDnsRecords,
    UpdateSubscription,
    DeleteGenerated,
    DeleteLogs,
    DeleteCluster,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Generate,
        Self::CreateDnsRecords,
        Self::DeleteDnsRecords,
        Self::UpdateSubscription,
        Self::DeleteGenerated,
        Self::DeleteLogs,
        Self::DeleteCluster,
    ];

    /// One that is new has to have its cases here.
    const fn of(action: &Action) -> Self {
        match action {
            Action::Generate { .. } => Self::Generate,
            Action::CreateDnsRecords { .. } => Self::CreateDnsRecords,
            Action::DeleteDnsRecords { .. } => Self::DeleteDnsRecords,
            Action::UpdateSubscription { .. } => Self::UpdateSubscription,
            Action::DeleteGenerated { .. } => Self::DeleteGenerated,
            Action::DeleteLogs { .. } => Self::DeleteLogs,
            Action::DeleteCluster { .. } => Self::DeleteCluster,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::CreateDnsRecords => "create_dns_records",
            Self::DeleteDnsRecords => "delete_dns_records",
            Self::UpdateSubscription => "update_subscription",
            Self::DeleteGenerated => "delete_generated",
            Self::DeleteLogs => "delete_logs",
            Self::DeleteCluster => "delete_cluster",
        }
    }

    /// Steps that it certainly has: what it does outside, and the commit in which it ends. Written down from what an action is for.
    const fn certain(self) -> &'static [&'static str] {
        match self {
            Self::Generate => &[
                "read the payload",
                "generate",
                "put */generated/*/manifests/openshift/#-own.yaml",
                "put */generated/*/bootstrap.ign",
                "put */generated/*/master-*.ign",
                "put */generated/*/kubeconfig-noingress",
            ],
            Self::CreateDnsRecords => &["look for names", "put records"],
            Self::DeleteDnsRecords => &["delete a record"],
            Self::UpdateSubscription => &["tell the account service"],
            Self::DeleteGenerated => {
                &["delete */generated/*/bootstrap.ign", "delete */generated/*/master-*.ign"]
            }
            Self::DeleteLogs => &["delete */logs/controller/logs.tar.gz", "delete */logs/*/logs.tar.gz"],
            Self::DeleteCluster => {
                &["delete */logs/controller/logs.tar.gz", "delete */manifests/manifests/mine.yaml"]
            }
        }
    }
}

/// A release that names an image, and a manifest of the service's own.
struct WithManifest;

impl Generator for WithManifest {
    fn payload<'a>(&'a self, _: &'a Facts) -> BoxFuture<'a, Result<Payload, GenerateError>> {
        let images =
            PayloadImages { must_gather: "quay.io/must-gather".to_owned(), ..PayloadImages::default() };
        async move { Ok(Payload::new(images, ())) }.boxed()
    }

    fn generate<'a>(
        &'a self,
        facts: &'a Facts,
        payload: Payload,
        blob: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>> {
        async move {
            let mut files = Simulation.generate(facts, payload, blob).await?;
            files.manifests.push(("50-own.yaml".to_owned(), "a: 1".into()));
            Ok(files)
        }
        .boxed()
    }

    fn host_ignition<'a>(
        &'a self,
        facts: &'a Facts,
        host: HostKey,
    ) -> BoxFuture<'a, Result<Bytes, GenerateError>> {
        Simulation.host_ignition(facts, host)
    }
}

/// Where actions of one kind are done.
struct Place {
    lab: Lab,
    kind: Kind,
    keeper: Option<Keeper>,
    accounts: Option<IdentityProvider>,
}

impl Place {
    async fn start(database: &Database, kind: Kind) -> Self {
        let time = Time::default();
        let keeper = matches!(kind, Kind::CreateDnsRecords | Kind::DeleteDnsRecords).then(Keeper::bind);
        let accounts = (kind == Kind::UpdateSubscription).then(subscription::start);
        let lab = match (&keeper, &accounts) {
            (Some(keeper), _) => Lab::with(database, time, |settings| keeper.set(settings)).await,
            (None, Some(accounts)) => {
                Lab::with(database, time, |settings| subscription::set(settings, accounts)).await
            }
            (None, None) if kind == Kind::Generate => {
                Lab::generating(database, time, Arc::new(WithManifest)).await
            }
            (None, None) => Lab::with(database, time, |_| {}).await,
        };
        Self { lab, kind, keeper, accounts }
    }

    /// Does an action once, with a step that fails; gives the steps that it had, and how often one failed.
    async fn act(&self, fault: Option<Fault>) -> (Vec<StepName>, u32) {
        let ready = Box::pin(self.prepare()).await;
        let script = Script::new(format!("{} of cluster {}", self.kind.name(), ready.id), fault);
        Box::pin(self.ask(&ready)).await;
        let ended = (script.steps(), script.failures());
        drop(script);
        Box::pin(self.check(&ready)).await;
        Box::pin(self.clear(&ready)).await;
        ended
    }

    /// A cluster as it is when the action is asked for.
    async fn prepare(&self) -> Ready {
        let lab = &self.lab;
        if self.kind == Kind::UpdateSubscription {
            return Box::pin(self.prepare_to_complete()).await;
        }
        let id = lab.single_node().await.id;
        if self.kind == Kind::DeleteCluster {
            self.leave_manifest(id).await;
            self.leave_logs(id).await;
            lab.service.clusters().deregister(&lab.caller, id).await.unwrap();
            return Ready { id, hosts: Vec::new() };
        }
        let infra_env = lab.infra_env(Some(id)).await;
        let host = lab.host(infra_env.id).await;
        lab.report_all(host, 1).await;
        lab.until_status(id, ClusterStatus::Ready).await;
        let ready = Ready { id, hosts: vec![host] };
        match self.kind {
            Kind::Generate => {}
            Kind::DeleteLogs => {
                self.leave_manifest(id).await;
                self.leave_logs(id).await;
            }
            Kind::CreateDnsRecords => {
                lab.install(id).await;
                self.until_done(id).await;
            }
            Kind::DeleteDnsRecords
            | Kind::UpdateSubscription
            | Kind::DeleteGenerated
            | Kind::DeleteCluster => {
                self.leave_manifest(id).await;
                lab.install_at(&ready).await;
                lab.until_idle(id).await;
                self.leave_logs(id).await;
                lab.service.clusters().cancel_installation(&lab.caller, id).await.unwrap();
            }
        }
        ready
    }

    /// A cluster that lacks but its final kubeconfig; the account service knows its console.
    async fn prepare_to_complete(&self) -> Ready {
        let lab = &self.lab;
        let ready = lab.ready().await;
        lab.install_at(&ready).await;
        for host in &ready.hosts {
            lab.all_stages(*host).await;
        }
        lab.until_status(ready.id, ClusterStatus::Finalizing).await;
        let clusters = lab.service.clusters();
        for operator in clusters.list_operators(&lab.caller, ready.id, None).await.unwrap().0 {
            let report = json!({"name": operator.name, "status": "available", "status_info": "fine"});
            let report = serde_json::from_value(report).unwrap();
            clusters.report_monitored_operator_status(&lab.caller, ready.id, report).await.unwrap();
        }
        self.until_done(ready.id).await;
        let kept = subscription::kept(lab, self.accounts.as_ref().unwrap(), ready.id).await;
        assert_eq!(kept["console_url"], json!("https://console-openshift-console.apps.c.example.com"));
        assert_eq!(kept["status"], json!("Reserved"));
        ready
    }

    /// What a user gives.
    async fn leave_manifest(&self, id: ClusterId) {
        let lab = &self.lab;
        let manifest: Value = json!({"file_name": "mine.yaml", "content": "e30="});
        let manifest = serde_json::from_value(manifest).unwrap();
        lab.service.files().create_cluster_manifest(&lab.caller, id, manifest).await.unwrap();
    }

    /// What a host and the controller send.
    async fn leave_logs(&self, id: ClusterId) {
        for folder in ["controller", "5f0cbb7e-91f4-4d4e-9a1b-0123456789ab"] {
            let key = Key::new(format!("{id}/logs/{folder}/logs.tar.gz")).unwrap();
            self.lab.service.blob().put(&key, "logs").await.unwrap();
        }
    }

    /// Has the action done.
    async fn ask(&self, ready: &Ready) {
        let (lab, id) = (&self.lab, ready.id);
        match self.kind {
            Kind::Generate | Kind::DeleteLogs => drop(lab.install(id).await),
            Kind::CreateDnsRecords => {
                lab.check(ready.hosts[0], 0).await;
                self.turned_until("installing", async || {
                    let cluster = lab.get_cluster(id).await;
                    let seen = format!("{} ({})", cluster.status, cluster.status_info);
                    if cluster.status == ClusterStatus::Installing { Ok(()) } else { Err(seen) }
                })
                .await;
            }
            Kind::UpdateSubscription => {
                lab.service.files().upload_cluster_ingress_cert(&lab.caller, id, CA).await.unwrap();
            }
            Kind::DeleteDnsRecords | Kind::DeleteGenerated => {
                lab.service.clusters().reset(&lab.caller, id).await.unwrap();
            }
            Kind::DeleteCluster => {
                lab.pass(RETENTION);
                self.turned_until("gone for good", async || {
                    let stored = lab.store.cluster(id, Deleted::Shown).await.unwrap();
                    stored.map_or(Ok(()), |stored| Err(stored.record.cluster.status_info))
                })
                .await;
            }
        }
        self.until_done(id).await;
    }

    /// Waits until nothing is left to be done for a cluster.
    async fn until_done(&self, id: ClusterId) {
        self.turned_until("done", async || {
            let left = self.lab.store.actions(id).await.unwrap();
            let left: Vec<_> = left.iter().map(|asked| (Kind::of(&asked.action), asked.attempts)).collect();
            // What comes after the end is worked on when the row is gone.
            let drivers = self.lab.service.work().list(&self.lab.caller, None).await.unwrap().drivers;
            let is_idle = drivers.iter().all(|driver| driver.name != "actions" || driver.running == 0);
            if left.is_empty() && is_idle { Ok(()) } else { Err(format!("{left:?}, idle: {is_idle}")) }
        })
        .await;
    }

    /// Waits, and turns the clock when everything else waits for it.
    async fn turned_until(&self, what: &str, look: impl AsyncFn() -> Result<(), String>) {
        eventually(what, async || {
            let seen = look().await;
            if seen.is_err() {
                self.lab.pass_at_rest(1).await;
            }
            seen
        })
        .await;
    }

    /// What there is when an action has ended: the same whatever failed in between.
    async fn check(&self, ready: &Ready) {
        let (lab, id) = (&self.lab, ready.id);
        let told = async |name: &str| {
            lab.event_names(id).await.iter().filter(|known| known.as_str() == name).count()
        };
        match self.kind {
            Kind::Generate => {
                let cluster = lab.get_cluster(id).await;
                let last = cluster.last_installation_preparation.clone().unwrap_or_default();
                assert_eq!(last.status, Some(InstallationPreparationStatus::Success), "{}", last.reason);
                // Of one try alone.
                let host = format!("master-{}.ign", ready.hosts[0].host_id);
                let expected = [
                    "arbiter.ign",
                    "bootstrap.ign",
                    "custom_manifests.json",
                    "install-config.yaml",
                    "kubeadmin-password",
                    "kubeconfig-noingress",
                    "manifests/openshift/50-own.yaml",
                    &host,
                    "master.ign",
                    "metadata.json",
                    "worker.ign",
                ];
                assert_eq!(lab.file_names(id).await, expected);
                let metadata: Value = serde_json::from_str(&lab.stored(id, "metadata.json").await).unwrap();
                assert_eq!(metadata["clusterID"], json!(cluster.openshift_cluster_id));
                assert_eq!(told("cluster_prepare_installation_started").await, 1);
            }
            Kind::CreateDnsRecords => {
                assert_eq!(self.records().await, RECORDS);
                let shown = lab.get_cluster(id).await.dns_records;
                let shown: BTreeSet<_> = shown.iter().map(|record| record.name.as_str()).collect();
                let names = ["*.apps.c.example.com", "api-int.c.example.com", "api.c.example.com"];
                assert_eq!(shown, BTreeSet::from(names));
                assert_eq!(told("dns_records_created").await, 1);
            }
            Kind::DeleteDnsRecords => {
                assert!(self.records().await.is_empty());
                assert!(lab.get_cluster(id).await.dns_records.is_empty());
                assert_eq!(told("dns_records_deleted").await, 1);
            }
            Kind::UpdateSubscription => {
                lab.until_status(id, ClusterStatus::Installed).await;
                let kept = subscription::kept(lab, self.accounts.as_ref().unwrap(), id).await;
                assert_eq!(kept["status"], json!("Active"));
                assert_eq!(told("cluster_installation_completed").await, 1);
            }
            Kind::DeleteGenerated => {
                let expected = [
                    "logs/5f0cbb7e-91f4-4d4e-9a1b-0123456789ab/logs.tar.gz",
                    "logs/controller/logs.tar.gz",
                    "manifest-attributes/manifests/mine.yaml/user-supplied",
                    "manifests/manifests/mine.yaml",
                ];
                assert_eq!(lab.file_names(id).await, expected);
                let cluster = lab.get_cluster(id).await;
                assert_eq!(
                    (cluster.status, cluster.openshift_cluster_id),
                    (ClusterStatus::Insufficient, None)
                );
            }
            Kind::DeleteLogs => {
                let names = lab.file_names(id).await;
                assert!(!names.iter().any(|name| name.starts_with("logs/")), "{names:?}");
                assert!(names.iter().any(|name| name == "manifests/manifests/mine.yaml"), "{names:?}");
                // What was asked for after it was done after it.
                assert!(names.iter().any(|name| name == "bootstrap.ign"), "{names:?}");
            }
            Kind::DeleteCluster => {
                assert!(lab.store.cluster(id, Deleted::Shown).await.unwrap().is_none());
                assert!(lab.file_names(id).await.is_empty());
                assert!(lab.event_names(id).await.is_empty());
            }
        }
    }

    async fn records(&self) -> Vec<String> {
        self.keeper.as_ref().unwrap().records().await
    }

    /// Makes room for the next cluster of this name.
    async fn clear(&self, ready: &Ready) {
        if self.kind == Kind::CreateDnsRecords {
            let (clusters, caller) = (self.lab.service.clusters(), &self.lab.caller);
            clusters.cancel_installation(caller, ready.id).await.unwrap();
            clusters.reset(caller, ready.id).await.unwrap();
            self.until_done(ready.id).await;
            assert!(self.records().await.is_empty());
        }
    }
}

/// Each step, to fail before it is done and after it.
fn faults(steps: &[StepName]) -> Vec<Fault> {
    let both = |step: &StepName| {
        [Moment::Before, Moment::After].map(|moment| Fault { step: step.clone(), moment, times: TIMES })
    };
    steps.iter().flat_map(both).collect()
}

async fn fails_at(place: &Place, steps: &[StepName], fault: Fault) {
    let (step, moment) = (fault.step.clone(), fault.moment);
    let at = |name: &StepName| steps.iter().position(|known| known == name);
    let end = steps.iter().position(|known| known.kind.contains("delete actions"));
    let (_, failures) = Box::pin(place.act(Some(fault))).await;
    // What was done is not always done again, and what comes after the end is tried once.
    let least = if moment == Moment::Before && step.number == 0 && at(&step) <= end { TIMES } else { 1 };
    assert!((least..=TIMES).contains(&failures), "{:?} {step:?} {moment:?}: {failures}", place.kind);
}

async fn each_action(database: &Database, choose: impl Fn(Vec<Fault>) -> Vec<Fault>) {
    for kind in Kind::ALL {
        let database = database.another();
        let place = Place::start(&database, kind).await;
        let (steps, failures) = Box::pin(place.act(None)).await;
        assert_eq!(failures, 0);
        let kinds: BTreeSet<_> = steps.iter().map(|step| step.kind.as_str()).collect();
        for certain in kind.certain() {
            assert!(kinds.contains(certain), "{kind:?} {certain}: {kinds:#?}");
        }
        assert!(kinds.iter().any(|kind| kind.contains("delete actions")), "{kind:?}: {kinds:#?}");
        for fault in choose(faults(&steps)) {
            fails_at(&place, &steps, fault).await;
        }
        place.lab.stop().await;
    }
}

/// Of each action the first step before it is done, and one in the middle after it. Whether a step failed is decided above the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn some_steps_of_each_action() {
    let database = Database::sqlite();
    let some = |mut all: Vec<Fault>| {
        let middle = all.swap_remove(all.len() / 4 * 2 + 1);
        vec![all.swap_remove(0), middle]
    };
    Box::pin(each_action(&database, some)).await;
}

async fn everything_at_each_step_of_each_action(database: Database) {
    Box::pin(each_action(&database, |all| all)).await;
}
