//! What is asked for outside gets done: after failures, and after the death of whoever did it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use assisted_blob::{Blob, Key};
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_service::Error;
use assisted_service::file::manifest::ManifestFile;
use assisted_service::generator::{Files, GenerateError, Generator, Payload, Simulation};
use assisted_wire::cluster::{Cluster, ClusterStatus, InstallationPreparationStatus};
use assisted_wire::manifest::ManifestFolder;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Notify;

use crate::lab::{Database, Lab, Time, content, eventually, on_both_engines};
use crate::stages::in_status;

on_both_engines![
    killed_in_the_middle,
    stopped_in_the_middle,
    done_again_after_failures,
    a_refusal_ends_the_attempt,
    given_up_after_many_failures,
    left_when_it_is_cancelled,
    late_files_are_not_mixed_with_those_in_use,
];

/// What becomes of a call.
#[derive(Clone, Copy)]
enum End {
    Succeeds,
    Breaks,
    Refuses,
    /// Not before the end of the process.
    Never,
}

/// A generator whose first calls end as wanted; the others as the last of them.
struct Scripted {
    ends: Vec<End>,
    calls: AtomicU32,
    called: Notify,
}

impl Scripted {
    fn new(ends: &[End]) -> Arc<Self> {
        Arc::new(Self { ends: ends.to_vec(), calls: AtomicU32::new(0), called: Notify::new() })
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Generator for Scripted {
    fn generate<'a>(
        &'a self,
        facts: &'a Facts,
        payload: Payload,
        blob: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>> {
        let call = usize::try_from(self.calls.fetch_add(1, Ordering::SeqCst)).unwrap();
        let end = self.ends[call.min(self.ends.len() - 1)];
        self.called.notify_one();
        async move {
            match end {
                End::Succeeds => {
                    let mut files = Simulation.generate(facts, payload, blob).await?;
                    files.manifests.push(("50-own.yaml".to_owned(), "a: 1".into()));
                    Ok(files)
                }
                End::Breaks => Err(Error::internal("no room").into()),
                End::Refuses => Err(GenerateError::Refused("no release payload".to_owned())),
                End::Never => std::future::pending().await,
            }
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

fn preparation(cluster: &Cluster) -> (Option<InstallationPreparationStatus>, String) {
    let last = cluster.last_installation_preparation.clone().unwrap_or_default();
    (last.status, last.reason)
}

fn is_prepared(cluster: &Cluster) -> bool {
    preparation(cluster).0 == Some(InstallationPreparationStatus::Success)
}

/// A service that died while it generated.
async fn killed(database: &Database) -> (assisted_wire::id::ClusterId, Time) {
    let generator = Scripted::new(&[End::Never]);
    let lab = Lab::generating(database, Time::default(), Arc::clone(&generator) as _).await;
    let id = lab.ready().await.id;
    lab.install(id).await;
    generator.called.notified().await;
    let time = lab.time.clone();
    // Nothing is given back.
    drop(lab);
    (id, time)
}

async fn killed_in_the_middle(database: Database) {
    let (id, time) = killed(&database).await;
    let generator = Scripted::new(&[End::Succeeds]);
    let lab = Lab::generating(&database, time, Arc::clone(&generator) as _).await;
    if database.address.starts_with("postgres") {
        let actions = lab.service.clusters().list_actions(&lab.caller, id).await.unwrap().0;
        assert_eq!((actions.len(), actions[0].action.as_str(), actions[0].attempts), (1, "generate", 1));
        // The lease of the dead runs out.
        lab.pass(11);
    }
    lab.until_cluster(id, "generated", is_prepared).await;
    lab.until_idle(id).await;
    assert_eq!(generator.calls(), 1);
    let names = lab.event_names(id).await;
    assert_eq!(names.iter().filter(|name| *name == "cluster_prepare_installation_started").count(), 1);
    lab.stop().await;
}

async fn stopped_in_the_middle(database: Database) {
    let generator = Scripted::new(&[End::Never]);
    let lab = Lab::generating(&database, Time::default(), Arc::clone(&generator) as _).await;
    let id = lab.ready().await.id;
    lab.install(id).await;
    generator.called.notified().await;
    let time = lab.time.clone();
    lab.stop().await;
    // It was given back: no lease has to run out.
    let lab = Lab::generating(&database, time, Scripted::new(&[End::Succeeds])).await;
    lab.until_cluster(id, "generated", is_prepared).await;
    lab.stop().await;
}

async fn done_again_after_failures(database: Database) {
    let generator = Scripted::new(&[End::Breaks, End::Breaks, End::Succeeds]);
    let lab = Lab::generating(&database, Time::default(), Arc::clone(&generator) as _).await;
    let id = lab.ready().await.id;
    lab.install(id).await;
    for attempts in 1..=2 {
        let told = eventually("failed", async || {
            let actions = lab.service.clusters().list_actions(&lab.caller, id).await.unwrap().0;
            let calls = generator.calls();
            let failed =
                actions.iter().find(|action| (action.attempts, i64::from(calls)) == (attempts, attempts));
            failed.and_then(|failed| failed.last_error.clone()).ok_or(format!("{calls} calls, {actions:?}"))
        })
        .await;
        // What exactly broke stands in the log.
        assert!(told.starts_with("internal error "), "{told}");
        assert_eq!(lab.get_cluster(id).await.status, ClusterStatus::PreparingForInstallation);
        lab.pass(10);
    }
    lab.until_cluster(id, "generated", is_prepared).await;
    lab.until_idle(id).await;
    assert_eq!(generator.calls(), 3);
    lab.stop().await;
}

async fn a_refusal_ends_the_attempt(database: Database) {
    let generator = Scripted::new(&[End::Refuses, End::Succeeds]);
    let lab = Lab::generating(&database, Time::default(), generator).await;
    let id = lab.ready().await.id;
    lab.install(id).await;
    let failed = lab.until_cluster(id, "ready again", |cluster| cluster.status == ClusterStatus::Ready).await;
    assert_eq!(
        preparation(&failed),
        (Some(InstallationPreparationStatus::Failed), "no release payload".to_owned())
    );
    let names = lab.event_names(id).await;
    assert!(names.iter().any(|name| name == "prepare_installation_failed"), "{names:?}");
    lab.until_idle(id).await;
    lab.pass(1);
    lab.install(id).await;
    lab.until_cluster(id, "generated", is_prepared).await;
    lab.stop().await;
}

async fn given_up_after_many_failures(database: Database) {
    let generator = Scripted::new(&[End::Breaks]);
    let lab = Lab::generating(&database, Time::default(), Arc::clone(&generator) as _).await;
    let id = lab.ready().await.id;
    lab.install(id).await;
    let failed = eventually("given up", async || {
        lab.pass_at_rest(1).await;
        let cluster = lab.get_cluster(id).await;
        let seen = format!("{} after {} calls", cluster.status, generator.calls());
        (cluster.status != ClusterStatus::PreparingForInstallation).then_some(cluster).ok_or(seen)
    })
    .await;
    let (status, reason) = preparation(&failed);
    assert_eq!(status, Some(InstallationPreparationStatus::Failed));
    assert!(reason.starts_with("internal error "), "{reason}");
    assert_eq!(generator.calls(), 5);
    lab.stop().await;
}

async fn left_when_it_is_cancelled(database: Database) {
    let generator = Scripted::new(&[End::Never, End::Succeeds]);
    let lab = Lab::generating(&database, Time::default(), Arc::clone(&generator) as _).await;
    let id = lab.ready().await.id;
    lab.install(id).await;
    generator.called.notified().await;
    lab.service.clusters().cancel_installation(&lab.caller, id).await.unwrap();
    // No lease runs out: time stands still.
    lab.until_idle(id).await;
    lab.until_cluster(id, "ready again", |cluster| cluster.status == ClusterStatus::Ready).await;
    lab.pass(1);
    lab.install(id).await;
    lab.until_cluster(id, "generated", is_prepared).await;
    assert_eq!(generator.calls(), 2);
    lab.stop().await;
}

/// A process that lost its lease in the middle of keeping files may still write some: they are not among those that hosts use.
async fn late_files_are_not_mixed_with_those_in_use(database: Database) {
    let lab = Lab::generating(&database, Time::default(), Scripted::new(&[End::Succeeds])).await;
    let id = lab.ready().await.id;
    let put = async |path: &str| {
        let key = Key::new(format!("{id}/generated/{path}")).unwrap();
        lab.service.blob().put(&key, "late").await.unwrap();
    };
    put("before/kubeconfig-noingress").await;
    put("before/manifests/openshift/40-before.yaml").await;
    lab.install(id).await;
    lab.until_cluster(id, "generated", is_prepared).await;
    lab.until_idle(id).await;
    put("after/kubeconfig-noingress").await;
    put("after/manifests/openshift/50-own.yaml").await;
    put("after/manifests/openshift/60-late.yaml").await;
    // Manifests of the service's own are those of the try that counts, too.
    let files = lab.service.files();
    let listed = files.list_cluster_manifests(&lab.caller, id, true).await.unwrap().0;
    let listed: Vec<_> = listed.into_iter().map(|manifest| manifest.file_name).collect();
    assert_eq!(listed, ["50-own.yaml"]);
    let own =
        ManifestFile { cluster_id: id, folder: ManifestFolder::Openshift, file_name: listed[0].clone() };
    let own = files.download_cluster_manifest(&lab.caller, own).await.unwrap();
    assert_eq!(content(own).await, b"a: 1");
    let folders: BTreeSet<String> = lab
        .service
        .blob()
        .list(&Key::new(format!("{id}/generated")).unwrap())
        .await
        .unwrap()
        .into_iter()
        .filter_map(|(key, _)| key.as_str().split('/').nth(2).map(ToOwned::to_owned))
        .collect();
    // What was left by an earlier try is gone, what comes later has a folder of its own.
    assert!(folders.len() == 2 && folders.contains("after"), "{folders:?}");
    let lab = in_status(&database, lab, id, ClusterStatus::Installing).await;
    let file =
        lab.service.files().download_cluster_files(&lab.caller, id, "kubeconfig-noingress").await.unwrap();
    assert_ne!(content(file).await, b"late");
    lab.stop().await;
}

/// A file is one service's alone: replicas have PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_the_work() {
    let database = Database::postgres();
    let generator = Scripted::new(&[End::Succeeds]);
    let one = Lab::generating(&database, Time::default(), Arc::clone(&generator) as _).await;
    let other = Lab::generating(&database, one.time.clone(), Arc::clone(&generator) as _).await;
    let id = one.ready().await.id;
    one.install(id).await;
    other.until_cluster(id, "generated", is_prepared).await;
    one.until_idle(id).await;
    assert_eq!(generator.calls(), 1);
    one.stop().await;
    other.stop().await;
}
