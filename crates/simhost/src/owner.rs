//! Whoever wants a cluster: creates it, sets up what its hosts can't know, has it installed, and looks how it goes.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_wire::cluster::{ClusterProgressInfo, ClusterStatus};
use assisted_wire::host::{HostStage, HostStatus};
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::operation::BASE_PATH;
use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::host::SimHost;
use crate::outbox::{Answer, Call, Outbox, Process};
use crate::plan::{Goal, Plan};
use crate::world::Site;

/// How often an installation is asked for, if the service refuses.
const ATTEMPTS: u8 = 5;

/// A cluster as the service showed it last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Look {
    pub status: Option<ClusterStatus>,
    pub status_info: String,
    /// 0–100.
    pub percentage: i64,
    /// Hosts by status.
    pub hosts: BTreeMap<HostStatus, u32>,
    /// Hosts that are being installed, by stage.
    pub stages: BTreeMap<HostStage, u32>,
}

#[derive(Deserialize)]
struct Seen {
    status: ClusterStatus,
    #[serde(default)]
    status_info: String,
    #[serde(default)]
    progress: Option<ClusterProgressInfo>,
    #[serde(default)]
    hosts: Option<Vec<SeenHost>>,
}

#[derive(Deserialize)]
struct SeenHost {
    status: HostStatus,
    #[serde(default)]
    progress: Option<SeenProgress>,
}

#[derive(Deserialize)]
struct SeenProgress {
    #[serde(default)]
    current_stage: Option<HostStage>,
}

impl From<Seen> for Look {
    fn from(seen: Seen) -> Self {
        let (mut hosts, mut stages) = (BTreeMap::new(), BTreeMap::new());
        for host in seen.hosts.into_iter().flatten() {
            *hosts.entry(host.status).or_default() += 1;
            if let Some(stage) = host.progress.and_then(|progress| progress.current_stage) {
                *stages.entry(stage).or_default() += 1;
            }
        }
        Self {
            status: Some(seen.status),
            status_info: seen.status_info,
            percentage: seen.progress.map_or(0, |progress| progress.total_percentage),
            hosts,
            stages,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    CreatesCluster,
    CreatesInfraEnv,
    Looks,
    /// Sets up the host at a place.
    SetsHost(u32),
    SetsNetwork,
    Installs,
    Ended,
}

/// What the answer that an owner got means for the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    None,
    /// The machines can be switched on.
    InfraEnv(InfraEnvId),
    /// The cluster is being installed.
    Installing,
}

/// The owner of one cluster.
#[derive(Debug)]
pub struct Owner {
    index: u32,
    phase: Phase,
    pub cluster_id: Option<ClusterId>,
    infra_env_id: Option<InfraEnvId>,
    pub look: Look,
    /// Since when nothing has changed.
    quiet_since: Duration,
    hosts_set: bool,
    network_set: bool,
    installing: bool,
    attempts: u8,
    /// Why it ended without the service's doing.
    pub trouble: Option<String>,
    /// When it ended.
    pub ended_at: Option<Duration>,
}

/// What an owner knows besides what the service tells.
pub struct Around<'a> {
    pub plan: &'a Plan,
    pub site: Site,
    /// The host at a place.
    pub peer: &'a dyn Fn(u32) -> SimHost,
}

impl Owner {
    /// The owner of the cluster number `index`.
    pub fn new(index: u32) -> Self {
        Self {
            index,
            phase: Phase::CreatesCluster,
            cluster_id: None,
            infra_env_id: None,
            look: Look::default(),
            quiet_since: Duration::ZERO,
            hosts_set: false,
            network_set: false,
            installing: false,
            attempts: 0,
            trouble: None,
            ended_at: None,
        }
    }

    fn process(&self) -> Process {
        Process::Owner(self.index)
    }

    /// Begins: with a cluster that exists, or by creating one.
    pub fn start(&mut self, around: &Around<'_>, out: &mut Outbox) -> News {
        match around.plan.existing {
            Some((cluster_id, infra_env_id)) => {
                (self.cluster_id, self.infra_env_id) = (Some(cluster_id), Some(infra_env_id));
                self.look_later(around, out);
                News::InfraEnv(infra_env_id)
            }
            None => {
                let plan = around.plan;
                let mut body = json!({
                    "name": plan.cluster_name(self.index), "openshift_version": plan.version,
                    "base_dns_domain": "example.com", "pull_secret": plan.pull_secret,
                });
                merge(&mut body, plan.topology.cluster_fields());
                let path = format!("{BASE_PATH}/v2/clusters");
                out.send(Call::json(self.process(), Method::POST, path, &body));
                News::None
            }
        }
    }

    fn look_later(&mut self, around: &Around<'_>, out: &mut Outbox) {
        self.phase = Phase::Looks;
        out.wake_after(around.plan.look, self.process());
    }

    /// Its time has come.
    pub fn woken(&mut self, out: &mut Outbox) {
        if let (Phase::Looks, Some(id)) = (self.phase, self.cluster_id) {
            out.send(Call::get(self.process(), format!("{BASE_PATH}/v2/clusters/{id}")));
        }
    }

    /// Whether it looks no more.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    fn end(&mut self, trouble: Option<String>, out: &Outbox) {
        self.phase = Phase::Ended;
        self.trouble = trouble;
        self.ended_at = Some(out.now);
    }

    /// The service has answered.
    pub fn answered(&mut self, answer: &Answer, around: &Around<'_>, out: &mut Outbox) -> News {
        match self.phase {
            Phase::CreatesCluster => match id(answer) {
                Ok(id) => {
                    self.cluster_id = Some(ClusterId(id));
                    self.phase = Phase::CreatesInfraEnv;
                    let plan = around.plan;
                    let body = json!({
                        "name": plan.cluster_name(self.index), "openshift_version": plan.version,
                        "pull_secret": plan.pull_secret, "cluster_id": id,
                    });
                    out.send(Call::json(
                        self.process(),
                        Method::POST,
                        format!("{BASE_PATH}/v2/infra-envs"),
                        &body,
                    ));
                }
                Err(trouble) => self.end(Some(format!("no cluster: {trouble}")), out),
            },
            Phase::CreatesInfraEnv => match id(answer) {
                Ok(id) => {
                    self.infra_env_id = Some(InfraEnvId(id));
                    self.look_later(around, out);
                    return News::InfraEnv(InfraEnvId(id));
                }
                Err(trouble) => self.end(Some(format!("no infra-env: {trouble}")), out),
            },
            Phase::Looks => self.seen(answer, around, out),
            Phase::SetsHost(place) => {
                if !answer.is_success() {
                    self.end(Some(format!("a host can't be set up: {}", reason(answer))), out);
                } else if !self.set_host(place + 1, around, out) {
                    self.look_later(around, out);
                }
            }
            Phase::SetsNetwork => {
                if answer.is_success() {
                    self.look_later(around, out);
                } else {
                    self.end(Some(format!("the network can't be set up: {}", reason(answer))), out);
                }
            }
            Phase::Installs => {
                self.installing = answer.is_success();
                if self.installing {
                    self.look_later(around, out);
                    return News::Installing;
                }
                self.attempts += 1;
                if self.attempts >= ATTEMPTS || answer.status == 501 {
                    self.end(Some(format!("the installation is refused: {}", reason(answer))), out);
                } else {
                    self.look_later(around, out);
                }
            }
            Phase::Ended => {}
        }
        News::None
    }

    fn seen(&mut self, answer: &Answer, around: &Around<'_>, out: &mut Outbox) {
        if answer.status == 404 {
            return self.end(Some("the cluster was deleted".to_owned()), out);
        }
        let look = match serde_json::from_slice::<Seen>(&answer.body) {
            Ok(seen) => Look::from(seen),
            Err(_) => return self.look_later(around, out),
        };
        if look != self.look {
            self.look = look;
            self.quiet_since = out.now;
        }
        let Some(status) = self.look.status else { return };
        let hosts = self.look.hosts.values().sum::<u32>();
        let known = |state| self.look.hosts.get(&state).copied().unwrap_or_default();
        let judged = hosts >= around.plan.hosts && known(HostStatus::Discovering) == 0;
        let all_known = known(HostStatus::Known) == hosts;
        let quiet = out.now.saturating_sub(self.quiet_since) > around.plan.settle;
        match status {
            ClusterStatus::Installed | ClusterStatus::Error | ClusterStatus::Cancelled => self.end(None, out),
            // The preparation has failed.
            ClusterStatus::Ready | ClusterStatus::Insufficient if self.installing => self.end(None, out),
            ClusterStatus::Ready | ClusterStatus::Insufficient | ClusterStatus::PendingForInput if judged => {
                if !self.hosts_set {
                    self.hosts_set = true;
                    if self.set_host(0, around, out) {
                        return;
                    }
                }
                if status == ClusterStatus::PendingForInput && !self.network_set {
                    return self.set_network(around, out);
                }
                if status == ClusterStatus::Ready && all_known {
                    match around.plan.goal {
                        Goal::Ready => return self.end(None, out),
                        Goal::Installed => return self.install(out),
                    }
                }
                if quiet {
                    return self.end(None, out);
                }
                self.look_later(around, out);
            }
            _ => self.look_later(around, out),
        }
    }

    /// Sets up the next host that needs it, from a place on; false if none does.
    fn set_host(&mut self, from: u32, around: &Around<'_>, out: &mut Outbox) -> bool {
        let plan = around.plan;
        let needed = (from..plan.hosts).map(|place| (place, plan.topology.host_fields(place, plan.hosts)));
        let Some((place, fields)) = needed.into_iter().find(|(_, fields)| *fields != json!({})) else {
            return false;
        };
        self.phase = Phase::SetsHost(place);
        out.send(Call::json(self.process(), Method::PATCH, (around.peer)(place).path(), &fields));
        true
    }

    fn set_network(&mut self, around: &Around<'_>, out: &mut Outbox) {
        let Some(id) = self.cluster_id else { return };
        self.network_set = true;
        self.phase = Phase::SetsNetwork;
        let site = around.site;
        let body = if around.plan.topology.has_vips() {
            json!({"api_vips": [{"ip": site.api()}], "ingress_vips": [{"ip": site.ingress()}]})
        } else {
            json!({"machine_networks": [{"cidr": site.cidr()}]})
        };
        out.send(Call::json(self.process(), Method::PATCH, format!("{BASE_PATH}/v2/clusters/{id}"), &body));
    }

    fn install(&mut self, out: &mut Outbox) {
        let Some(id) = self.cluster_id else { return };
        self.phase = Phase::Installs;
        let path = format!("{BASE_PATH}/v2/clusters/{id}/actions/install");
        out.send(Call::json(self.process(), Method::POST, path, &json!({})));
    }
}

fn merge(into: &mut Value, fields: Value) {
    if let (Value::Object(into), Value::Object(fields)) = (into, fields) {
        into.extend(fields);
    }
}

/// The id of what was created.
fn id(answer: &Answer) -> Result<uuid::Uuid, String> {
    #[derive(Deserialize)]
    struct Created {
        id: uuid::Uuid,
    }
    if !answer.is_success() {
        return Err(reason(answer));
    }
    serde_json::from_slice::<Created>(&answer.body)
        .map(|created| created.id)
        .map_err(|error| error.to_string())
}

/// Why the service refused.
pub fn reason(answer: &Answer) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        #[serde(default)]
        reason: String,
        #[serde(default)]
        message: String,
    }
    let Refusal { reason, message } = serde_json::from_slice(&answer.body)
        .unwrap_or(Refusal { reason: String::new(), message: String::new() });
    let said = if reason.is_empty() { message } else { reason };
    format!("{}: {said}", answer.status).trim_end_matches([':', ' ']).to_owned()
}
