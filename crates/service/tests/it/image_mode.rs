//! Installations in image mode, with hosts, builder and controller that report as the real ones do: live steps, each way to fail that the
//! service tells apart, and an installation after that (ocl-day1 §B10, §B12).

use assisted_config::Generator;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::Error;
use assisted_service::file::log::DownloadLogs;
use assisted_store::Deleted;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::{HostStage, HostStatus};
use assisted_wire::id::ClusterId;
use assisted_wire::on_cluster_layering::{LayeringBuild, LayeringErrorCode, LayeringStatus};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::installation::Ready;
use crate::lab::{Database, Lab, Time, content, eventually, on_one_engine, refusal};

on_one_engine![
    each_failure_ends_the_installation_and_the_last_one_succeeds,
    what_nobody_asks_for_changes_nothing,
];

const MANIFEST: &str = include_str!("../data/image_mode.yaml");
const OVERRIDES: &str = r#"{"onClusterLayering":{"mode":"Enabled"}}"#;
const IMAGE: &str = "api-int.c.example.com:22626/ocl/os-image-master@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

impl Lab {
    /// Three nodes that are ready to be installed in image mode.
    async fn ready_in_image_mode(&self) -> Ready {
        let ready = self.ready().await;
        let params =
            json!({"folder": "manifests", "file_name": "os.yaml", "content": STANDARD.encode(MANIFEST)});
        let params = serde_json::from_value(params).unwrap();
        Box::pin(self.service.files().create_cluster_manifest(&self.caller, ready.id, params)).await.unwrap();
        Box::pin(self.service.clusters().update_install_config(&self.caller, ready.id, OVERRIDES))
            .await
            .unwrap();
        self.until_ready_in_image_mode(ready.id).await;
        ready
    }

    async fn until_ready_in_image_mode(&self, id: ClusterId) {
        self.until_cluster(id, "ready in image mode", |cluster| {
            cluster.status == ClusterStatus::Ready
                && cluster.validations_info.contains("ocl-version-supported")
        })
        .await;
    }

    /// What a builder, or the controller, reports.
    async fn report(&self, id: ClusterId, build: &Value) -> Result<(), Error> {
        let mut whole = json!({"pool": "master", "location": "bootstrap", "attempt": 1});
        for (name, value) in build.as_object().unwrap() {
            whole[name] = value.clone();
        }
        self.send_image_report(id, json!({"build": whole})).await
    }

    async fn send_image_report(&self, id: ClusterId, report: Value) -> Result<(), Error> {
        let report = serde_json::from_value(report).unwrap();
        Box::pin(self.service.clusters().report_layering(&self.caller, id, "master", report)).await
    }

    /// What is told of the control plane's image, beside the state of all.
    async fn image(&self, id: ClusterId) -> (LayeringStatus, LayeringBuild) {
        let state = self.service.clusters().get_layering(&self.caller, id).await.unwrap();
        let build = state.builds.into_iter().find(|build| build.pool.as_str() == "master").unwrap();
        (state.status, build)
    }

    async fn upload_build_logs(&self, id: ClusterId, pool: &str, text: &'static str) -> Result<(), Error> {
        let pieces = stream::iter([Ok(Bytes::from(text))]);
        Box::pin(self.service.files().upload_build_logs(&self.caller, id, pool, pieces)).await
    }

    async fn build_logs(&self, id: ClusterId, pool: &str) -> Result<(String, Vec<u8>), Error> {
        let file = Box::pin(self.service.files().download_build_logs(&self.caller, id, pool)).await?;
        Ok((file.name.clone(), content(file).await))
    }

    /// The value of a metric of image mode.
    async fn image_metric(&self, line: &str) -> Option<f64> {
        let text = String::from_utf8(self.service.metrics().text().await.unwrap()).unwrap();
        let wanted = format!("{line} ");
        let value = text.lines().find_map(|line| line.strip_prefix(wanted.as_str()))?;
        Some(value.parse().unwrap())
    }

    /// Everything is forgotten, and the hosts come again.
    async fn reset(&self, ready: &Ready) {
        Box::pin(self.service.clusters().reset(&self.caller, ready.id)).await.unwrap();
        self.until_idle(ready.id).await;
        for (number, host) in (1..).zip(&ready.hosts) {
            self.until_host(*host, "resetting", |host| host.status.as_str().starts_with("resetting")).await;
            self.register(host.infra_env_id, host.host_id).await.unwrap();
            self.until(*host, HostStatus::Discovering).await;
            self.report_all(*host, number).await;
        }
        self.meet(&ready.hosts).await;
        self.until_ready_in_image_mode(ready.id).await;
    }

    /// The installer of a host that waits for the image, or builds it, fails with it.
    async fn first_host_fails(&self, ready: &Ready, code: &str, why: &str) {
        let host = ready.hosts[0];
        self.until(host, HostStatus::Installing).await;
        self.reach(host, HostStage::StartingInstallation).await;
        self.get_on(host, HostStage::Failed, &format!("OS image: {code}: {why}")).await;
    }
}

/// What fails, by its code, and where the cluster is then: nobody but the service finds a builder that is lost, and nobody but the controller a
/// node in another image. A swapped digest, a refused push and a closed port differ from a step that fails in their codes alone here.
async fn each_failure_ends_the_installation_and_the_last_one_succeeds(database: Database) {
    let lab = Lab::with(&database, Time::default(), |settings| {
        settings.layering.preview = true;
        settings.generation.generator = Generator::Simulation;
    })
    .await;
    let ready = lab.ready_in_image_mode().await;
    let id = ready.id;
    assert_eq!(lab.image(id).await.0, LayeringStatus::Pending);
    let too_early = refusal(lab.report(id, &json!({"state": "building"})).await);
    assert_eq!(too_early.0, RefusalKind::Conflict, "{}", too_early.1);
    assert_eq!(refusal(lab.upload_build_logs(id, "master", "x").await).0, RefusalKind::NotFound);

    Box::pin(fails_by_a_step(&lab, &ready)).await;
    Box::pin(lab.reset(&ready)).await;
    Box::pin(fails_by_silence(&lab, &ready)).await;
    Box::pin(lab.reset(&ready)).await;
    Box::pin(fails_on_a_node(&lab, &ready)).await;
    Box::pin(lab.reset(&ready)).await;

    // Nothing of the earlier ones is left that would be in the way.
    let (status, build) = lab.image(id).await;
    assert_eq!((status, build.attempt, build.error), (LayeringStatus::Pending, 0, None));
    lab.install_at(&ready).await;
    eventually("without logs of the earlier build", async || match lab.build_logs(id, "master").await {
        Err(_) => Ok(()),
        Ok((name, _)) => Err(name),
    })
    .await;
    lab.report(id, &json!({"state": "building"})).await.unwrap();
    lab.report(id, &json!({"state": "ready", "image": IMAGE, "image_bytes": 1_000_000_000_u64}))
        .await
        .unwrap();
    assert_eq!(lab.image(id).await.0, LayeringStatus::Ready);
    for host in &ready.hosts {
        lab.all_stages(*host).await;
    }
    lab.until_status(id, ClusterStatus::Finalizing).await;
    lab.report(id, &json!({"state": "ready", "image": IMAGE, "adopted": true})).await.unwrap();
    assert_eq!(lab.image(id).await.0, LayeringStatus::Adopted);
    lab.finalize(id).await;
    lab.until_status(id, ClusterStatus::Installed).await;
    let names = lab.event_names(id).await;
    for name in ["ocl_enabled", "ocl_build_succeeded", "ocl_pool_adopted", "cluster_installation_completed"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
    for (line, value) in [
        (r#"assisted_ocl_failures_total{code="build-user"}"#, 1.0),
        (r#"assisted_ocl_failures_total{code="lost"}"#, 1.0),
        (r#"assisted_ocl_failures_total{code="boot"}"#, 1.0),
        (
            r#"assisted_ocl_build_duration_seconds_count{location="bootstrap",pool="master",result="failed"}"#,
            3.0,
        ),
        (
            r#"assisted_ocl_build_duration_seconds_count{location="bootstrap",pool="master",result="ready"}"#,
            2.0,
        ),
        // One each, and one that was tried again.
        ("assisted_ocl_build_attempts_total", 5.0),
        (r#"assisted_ocl_image_bytes_count{pool="master"}"#, 1.0),
    ] {
        assert_eq!(lab.image_metric(line).await, Some(value), "{line}");
    }
    lab.stop().await;
}

/// A step of the user's Containerfile fails, after a base image that came at the second try.
async fn fails_by_a_step(lab: &Lab, ready: &Ready) {
    let id = ready.id;
    lab.install_at(ready).await;
    lab.report(id, &json!({"state": "pulling-base", "percent": 12})).await.unwrap();
    lab.report(id, &json!({"state": "pulling-base", "percent": 12, "attempt": 2})).await.unwrap();
    let step = "STEP 7/12: RUN dnf -y install strace";
    lab.report(id, &json!({"state": "building", "attempt": 2, "percent": 58, "step": step})).await.unwrap();
    let (status, build) = lab.image(id).await;
    assert_eq!((status, build.percent, build.step.as_deref()), (LayeringStatus::Building, 58, Some(step)));
    // A host tells of itself alone: the build stays as its builder has told it.
    let host = ready.hosts[1].host_id;
    lab.send_image_report(id, json!({"hosts": [{"host_id": host, "phase": "waiting"}]})).await.unwrap();
    let state = lab.service.clusters().get_layering(&lab.caller, id).await.unwrap();
    assert_eq!((state.hosts.len(), state.hosts[0].host_id), (1, host));
    assert_eq!(lab.image(id).await.1, build);
    let nothing = refusal(lab.send_image_report(id, json!({})).await);
    assert_eq!(nothing.0, RefusalKind::Unprocessable, "{}", nothing.1);

    lab.upload_build_logs(id, "master", "no such package").await.unwrap();
    for pool in ["worker", "infra", "..", ""] {
        assert_eq!(refusal(lab.upload_build_logs(id, pool, "x").await).0, RefusalKind::NotFound, "{pool:?}");
        assert_eq!(refusal(lab.build_logs(id, pool).await).0, RefusalKind::NotFound, "{pool:?}");
    }
    let nobody = ClusterId::random();
    assert_eq!(refusal(lab.upload_build_logs(nobody, "master", "x").await).0, RefusalKind::NotFound);
    assert_eq!(refusal(lab.build_logs(nobody, "master").await).0, RefusalKind::NotFound);

    let why = "the build ended with exit status 1: no such package";
    let failed = json!({"state": "failed", "attempt": 2, "error_code": "build-user", "error": why});
    lab.report(id, &failed).await.unwrap();
    assert_eq!(lab.image(id).await.0, LayeringStatus::Failed);
    lab.first_host_fails(ready, "build-user", why).await;
    let cluster = lab.until_status(id, ClusterStatus::Error).await;
    assert_eq!(cluster.status_info, format!("OS image build failed for pool master: {why}"));
    assert!(lab.get(ready.hosts[0]).await.status_info.contains("OS image: build-user: the build ended"));
    let names = lab.event_names(id).await;
    for name in [
        "ocl_build_started",
        "ocl_build_retry",
        "ocl_build_state_changed",
        "ocl_build_failed",
        "cluster_installation_failed",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }

    let logs = lab.build_logs(id, "master").await.unwrap();
    assert_eq!(logs, (format!("c_{id}_os-image-master.tar.gz"), b"no such package".to_vec()));
    // They are among all logs of the cluster, too.
    let all = DownloadLogs { cluster_id: id, logs_type: None, host_id: None };
    let all = Box::pin(lab.service.files().download_cluster_logs(&lab.caller, all)).await.unwrap();
    let archive = content(all).await;
    let mut archive = tar::Archive::new(archive.as_slice());
    let mut names = Vec::new();
    for entry in archive.entries().unwrap() {
        names.push(entry.unwrap().path().unwrap().display().to_string());
    }
    assert!(names.iter().any(|name| name == "ocl_master_logs.tar.gz"), "{names:?}");
}

/// The builder says nothing any more.
async fn fails_by_silence(lab: &Lab, ready: &Ready) {
    let id = ready.id;
    lab.install_at(ready).await;
    lab.report(id, &json!({"state": "building", "percent": 40})).await.unwrap();
    eventually("a builder that is lost", async || {
        // Agents are heard all the time. A limit is over after its moment, so that no step of this clock may end at it.
        if lab.pass_at_rest(95).await {
            for host in &ready.hosts {
                lab.poll(*host).await.unwrap();
            }
        }
        let (status, build) = lab.image(id).await;
        let is_lost = build.error_code == Some(LayeringErrorCode::Lost) && status == LayeringStatus::Failed;
        is_lost.then_some(()).ok_or_else(|| format!("{status}: {build:?}"))
    })
    .await;
    let late = refusal(lab.report(id, &json!({"state": "building", "percent": 41})).await);
    assert_eq!(late.0, RefusalKind::Conflict, "{}", late.1);
    lab.first_host_fails(ready, "lost", "its builder has reported nothing for 10 minutes").await;
    let cluster = lab.until_status(id, ClusterStatus::Error).await;
    let told = "OS image build failed for pool master: its builder has reported nothing for 10 minutes";
    assert_eq!(cluster.status_info, told);
}

/// All hosts are installed, and the controller finds that one is in another image.
async fn fails_on_a_node(lab: &Lab, ready: &Ready) {
    let id = ready.id;
    lab.install_at(ready).await;
    lab.report(id, &json!({"state": "building"})).await.unwrap();
    let ready_image = json!({"state": "ready", "image": IMAGE});
    lab.report(id, &ready_image).await.unwrap();
    let other = IMAGE.replace("os-image-master", "os-image-worker");
    let other = refusal(lab.report(id, &json!({"state": "ready", "image": other})).await);
    assert_eq!(other.0, RefusalKind::Unprocessable, "{}", other.1);
    for host in &ready.hosts {
        lab.all_stages(*host).await;
    }
    lab.until_status(id, ClusterStatus::Finalizing).await;
    let why = "node node-2 boots quay.io/os@sha256:0, and not what was built";
    lab.report(id, &json!({"state": "failed", "error_code": "boot", "error": why, "image": IMAGE}))
        .await
        .unwrap();
    let cluster = lab.until_status(id, ClusterStatus::Error).await;
    assert_eq!(cluster.status_info, format!("OS image build failed for pool master: {why}"));
    // Who was done goes with its cluster.
    lab.until(ready.hosts[0], HostStatus::Error).await;
}

/// A cluster that does not ask for image mode is the same on a service that takes it and on one that doesn't: as it is stored, as it is answered,
/// and in what is generated for it.
async fn what_nobody_asks_for_changes_nothing(database: Database) {
    let other = database.another();
    let (plain, id) = Box::pin(installing(&database, false)).await;
    let (previewing, same) = Box::pin(installing(&other, true)).await;
    // Either may still work something out.
    eventually("the same", async || {
        let (one, another) = (stable_parts(&plain, id).await, stable_parts(&previewing, same).await);
        let differing: Vec<_> = one.iter().zip(&another).filter(|(one, another)| one != another).collect();
        if one.len() == another.len() && differing.is_empty() {
            Ok(())
        } else {
            Err(format!("{differing:?}"))
        }
    })
    .await;
    assert!(stable_parts(&plain, id).await.len() > 5, "there are files");
    plain.stop().await;
    previewing.stop().await;
}

/// A single node that is being installed.
async fn installing(database: &Database, preview: bool) -> (Lab, ClusterId) {
    let lab = Lab::with(database, Time::default(), |settings| {
        settings.layering.preview = preview;
        settings.generation.generator = Generator::Simulation;
    })
    .await;
    let id = lab.single_node().await.id;
    let infra_env = lab.infra_env(Some(id)).await;
    let host = lab.host(infra_env.id).await;
    lab.report_all(host, 1).await;
    lab.until_status(id, ClusterStatus::Ready).await;
    lab.install_at(&Ready { id, hosts: vec![host] }).await;
    lab.until_idle(id).await;
    (lab, id)
}

/// A cluster's record, its answer and its files, without what is new each time.
async fn stable_parts(lab: &Lab, id: ClusterId) -> Vec<String> {
    let stored = lab.store.cluster(id, Deleted::Hidden).await.unwrap().unwrap();
    let mut record = serde_json::to_value(&stored.record).unwrap();
    // One is made of ids, the other is an id without hyphens.
    for new in ["connectivity_print", "generated_folder"] {
        record[new] = Value::Null;
    }
    let answer = serde_json::to_value(lab.get_cluster(id).await).unwrap();
    let mut parts = vec![stable(&record).to_string(), stable(&answer).to_string()];
    let mut names = lab.file_names(id).await;
    names.retain(|name| !matches!(name.as_str(), "kubeadmin-password" | "metadata.json"));
    for name in names {
        let content = lab.stored(id, &name).await;
        parts.push(without_ids(&format!("{name}: {content}")));
    }
    parts
}

fn stable(value: &Value) -> Value {
    match value {
        Value::String(text) if text.parse::<Timestamp>().is_ok() => json!("a moment"),
        Value::String(text) => json!(without_ids(text)),
        Value::Array(items) => items.iter().map(stable).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (without_ids(name), stable(member))).collect()
        }
        plain => plain.clone(),
    }
}

fn without_ids(text: &str) -> String {
    let (mut told, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let is_id = rest.get(..36).is_some_and(|part| Uuid::try_parse(part).is_ok());
        told.push(if is_id { '*' } else { first });
        rest = &rest[if is_id { 36 } else { first.len_utf8() }..];
    }
    told
}
