//! Who makes a cluster of one node, plays its host and its controller, and remembers what was acknowledged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_core::model::host::HostKey;
use assisted_service::cluster::GetCluster;
use assisted_service::host::Poll;
use assisted_service::{Caller, Error, Service};
use assisted_wire::cluster::{Cluster, ClusterStatus, FinalizingStage};
use assisted_wire::host::{HostProgress, HostStage, HostStatus};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::step::{StepReply, StepType, Steps};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rand::Rng;
use rand::rngs::StdRng;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::history::History;
use super::world::World;
use crate::lab::{AGENT, PULL_SECRET, inventory, resolutions, time_sources};

const CA: &str = include_str!("../../data/ca.pem");

/// How long an installation may take, with all that happens.
const LIMIT: Duration = Duration::from_secs(240);

/// How many things a client writes before it installs.
const EDITS: u32 = 12;

/// One call, which may be made several times at several replicas.
macro_rules! ask {
    ($client:expr, $what:expr, |$service:ident, $caller:ident| $call:expr) => {{
        let caller = $client.caller.clone();
        let made = |$service: Service| {
            let $caller = caller.clone();
            Box::pin($call)
        };
        $client.world.ask(&mut $client.random, $what, made).await
    }};
}

pub struct Client {
    world: Arc<World>,
    random: StdRng,
    caller: Caller,
    cluster: ClusterId,
    host: HostKey,
    history: History,
}

impl Client {
    pub async fn new(world: Arc<World>, random: StdRng) -> Self {
        let host = HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() };
        let (cluster, caller) = (ClusterId::random(), Caller::admin(Uuid::new_v4()));
        let mut client = Self { world, random, caller, cluster, host, history: History::default() };
        let cluster: Value = json!({
            "name": "c", "openshift_version": "4.22", "pull_secret": PULL_SECRET, "base_dns_domain": "example.com",
            "control_plane_count": 1, "high_availability_mode": "None",
        });
        let made = ask!(client, "a new cluster", |service, caller| {
            let params = read(&cluster);
            async move { service.clusters().register(&caller, params).await }
        });
        client.cluster = made.outcome.unwrap().id;
        client.history.unknown_clusters = made.unknown;
        let infra_env = json!({"name": "lab", "pull_secret": PULL_SECRET, "cluster_id": client.cluster});
        let made = ask!(client, "a new infra-env", |service, caller| {
            let params = read(&infra_env);
            async move { service.infra_envs().register(&caller, params).await }
        });
        client.host.infra_env_id = made.outcome.unwrap().id;
        let host = client.host;
        let agent = json!({"host_id": host.host_id, "discovery_agent_version": AGENT});
        let registered = ask!(client, "a host", |service, caller| {
            let params = read(&agent);
            async move { Box::pin(service.hosts().register(&caller, host.infra_env_id, params)).await }
        });
        registered.outcome.unwrap();
        client.history.cluster = Some((client.cluster, host));
        client
    }

    /// Installs the cluster, and tells what was acknowledged.
    pub async fn run(mut self) -> History {
        let begun = Instant::now();
        loop {
            let pause = self.random.random_range(20..120);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let cluster = self.get().await;
            match cluster.status {
                ClusterStatus::Installed => return self.history,
                ClusterStatus::Error | ClusterStatus::Cancelled => panic!("{}", cluster.status_info),
                _ if self.history.edits < EDITS => self.edit().await,
                ClusterStatus::Ready => self.install().await,
                ClusterStatus::Finalizing => self.finalize().await,
                _ => {}
            }
            self.play_host().await;
            let seen = || format!("{} ({})", cluster.status, cluster.status_info);
            assert!(begun.elapsed() < LIMIT, "not installed: {}; {}", seen(), cluster.validations_info);
        }
    }

    async fn get(&mut self) -> Cluster {
        let cluster_id = self.cluster;
        let query = move || GetCluster { cluster_id, get_unregistered_clusters: false, exclude_hosts: false };
        let got = ask!(self, "the cluster", |service, caller| async move {
            service.clusters().get(&caller, query()).await
        });
        got.outcome.unwrap()
    }

    /// Writes something that is to last: a setting, a file, or an event.
    async fn edit(&mut self) {
        let (id, number) = (self.cluster, self.history.edits + 1);
        match self.random.random_range(0..3) {
            0 => {
                let tags = format!("t{number}");
                let changed = json!({"tags": tags});
                let updated = ask!(self, "tags", |service, caller| {
                    let params = read(&changed);
                    async move { service.clusters().update(&caller, id, params).await }
                });
                updated.outcome.unwrap();
                self.history.tags = tags;
            }
            1 => {
                let (name, text) =
                    (format!("m{number}.yaml"), format!("kind: ConfigMap\nnumber: {number}\n"));
                let manifest =
                    json!({"folder": "manifests", "file_name": name, "content": STANDARD.encode(&text)});
                let written = ask!(self, "a manifest", |service, caller| {
                    let params = read(&manifest);
                    async move { service.files().create_cluster_manifest(&caller, id, params).await }
                });
                written.outcome.unwrap();
                self.history.manifests.push((name, text));
            }
            _ => {
                let name = format!("told_{number}");
                let event = json!({
                    "name": name, "cluster_id": id, "severity": "info", "message": "m",
                    "event_time": "2026-01-01T00:00:00.000Z",
                });
                let told = ask!(self, "an event", |service, caller| {
                    let event = read(&event);
                    async move { service.events().trigger(&caller, event).await }
                });
                told.outcome.unwrap();
                self.history.events.push((name, told.unknown));
            }
        }
        self.history.edits = number;
    }

    async fn install(&mut self) {
        let id = self.cluster;
        let asked = ask!(self, "the installation", |service, caller| async move {
            service.clusters().install(&caller, id).await
        });
        // It may have begun at an attempt that nobody heard the answer of.
        acknowledged(&asked.outcome.map(drop), asked.unknown, "the installation");
    }

    /// Asks what to do, and does it.
    async fn play_host(&mut self) {
        let host = self.host;
        let polled = ask!(self, "a poll", |service, caller| async move {
            let poll = Poll { host, timestamp: Timestamp::now().as_second(), agent_version: Some(AGENT) };
            service.hosts().get_next_steps(&caller, poll).await
        });
        let steps: Steps = serde_json::from_slice(&polled.outcome.unwrap()).unwrap();
        for step in steps.instructions.unwrap_or_default() {
            let Some(kind) = step.step_type else { continue };
            let output = match kind {
                StepType::Inventory => inventory(1),
                StepType::NtpSynchronizer => time_sources(),
                StepType::DomainResolution => resolutions(),
                StepType::ContainerImageAvailability => {
                    json!({"images": [{"name": "quay.io/release", "result": "success"}]})
                }
                StepType::InstallationDiskSpeedCheck => {
                    json!({"io_sync_duration": 5, "path": "/dev/disk/by-id/wwn-1"})
                }
                _ => continue,
            };
            let reply = StepReply {
                step_type: Some(kind),
                step_id: step.step_id,
                output: output.to_string(),
                ..StepReply::default()
            };
            let replied = ask!(self, kind.as_str(), |service, caller| {
                let reply = reply.clone();
                async move { service.hosts().post_step_reply(&caller, host, reply).await }
            });
            // Another replica may know already that nobody needs it any more.
            let _ = replied.outcome;
        }
        self.go_on().await;
    }

    /// A host that is being installed gets to its next stage.
    async fn go_on(&mut self) {
        let key = self.host;
        let got =
            ask!(self, "the host", |service, caller| async move { service.hosts().get(&caller, key).await });
        let host = got.outcome.unwrap();
        if !matches!(host.status, HostStatus::Installing | HostStatus::InstallingInProgress) {
            return;
        }
        let Some(stage) = next(self.history.stage, host.progress_stages.as_deref()) else { return };
        let progress = HostProgress { current_stage: Some(stage), progress_info: String::new() };
        let reached = ask!(self, "a stage", |service, caller| {
            let progress = progress.clone();
            async move { service.hosts().update_install_progress(&caller, key, progress).await }
        });
        acknowledged(&reached.outcome, reached.unknown, stage.as_str());
        self.history.stage = Some(stage);
    }

    async fn finalize(&mut self) {
        let id = self.cluster;
        for stage in FinalizingStage::ALL {
            let params = json!({"finalizing_stage": stage});
            let told = ask!(self, "a stage of the cluster", |service, caller| {
                let params = read(&params);
                async move { service.clusters().update_finalizing_progress(&caller, id, params).await }
            });
            acknowledged(&told.outcome, told.unknown, stage.as_str());
        }
        let uploaded = ask!(self, "the certificate", |service, caller| async move {
            service.files().upload_cluster_ingress_cert(&caller, id, CA).await
        });
        acknowledged(&uploaded.outcome, uploaded.unknown, "the certificate");
        let listed = ask!(self, "operators", |service, caller| async move {
            service.clusters().list_operators(&caller, id, None).await
        });
        for operator in listed.outcome.unwrap().0 {
            let report = json!({"name": operator.name, "status": "available", "status_info": "fine"});
            let told = ask!(self, "an operator", |service, caller| {
                let report = read(&report);
                async move { service.clusters().report_monitored_operator_status(&caller, id, report).await }
            });
            acknowledged(&told.outcome, told.unknown, "an operator");
        }
    }
}

/// The stage after one.
fn next(reached: Option<HostStage>, stages: Option<&[HostStage]>) -> Option<HostStage> {
    let stages = stages?;
    let from =
        reached.map_or(0, |reached| stages.iter().position(|stage| *stage == reached).map_or(0, |at| at + 1));
    stages.get(from).copied()
}

/// A refusal is no news if an earlier attempt, of which nobody heard, may have done what was asked.
fn acknowledged(outcome: &Result<(), Error>, unknown: u32, what: &str) {
    assert!(outcome.is_ok() || unknown > 0, "{what}: {outcome:?}");
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}
