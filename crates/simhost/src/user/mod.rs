//! The user who wants a cluster: creates it, sets up what its hosts can't know, has it installed, and polls how it goes.

mod answer;
mod request;
#[cfg(test)]
mod tests;
mod view;

use std::time::Duration;

use assisted_wire::host::HostRole;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operation::BASE_PATH;
use hyper::Method;
use serde_json::{Value, json};

pub use view::{ClusterView, reason};

use crate::action::{ActionSink, Call, Process, Timer, patience};
use crate::fault::{Fault, FaultKind};
use crate::plan::Plan;
use crate::world::Site;

/// How often an installation is asked for, if the service refuses.
const ATTEMPTS: u8 = 5;
/// An operator that asks nothing of the hosts.
const OLM_OPERATOR: &str = "lso";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    CreatesCluster,
    CreatesInfraEnv,
    Polls,
    /// Sets up the host at a place.
    SetsHost(u32),
    SetsNetwork,
    Installs,
    Cancels,
    Resets,
    /// Opens the installed cluster for more hosts.
    Opens,
    /// Has the added host at a place installed.
    InstallsHost(u32),
    Ended,
}

/// What follows for the machines from the answer that a user got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    None,
    /// The machines can be switched on.
    InfraEnv(InfraEnvId),
    /// The cluster is being installed; the roles that its hosts have in it.
    Installing(Vec<(HostId, HostRole)>),
    /// The machines must boot the discovery image again.
    Reset(InfraEnvId),
    /// The machines that are added can be switched on.
    Open(InfraEnvId),
}

/// The user of one cluster.
#[derive(Debug)]
pub struct User {
    index: u32,
    phase: Phase,
    pub cluster_id: Option<ClusterId>,
    pub infra_env_id: Option<InfraEnvId>,
    pub look: ClusterView,
    /// Since when nothing has changed.
    quiet_since: Duration,
    hosts_set: bool,
    network_set: bool,
    installing: bool,
    attempts: u8,
    /// Hosts are being added: how many were set up and sent to be installed.
    added: Option<u32>,
    /// Cancels or resets the installation at the next look.
    interferes: bool,
    has_interfered: bool,
    timer: Timer,
    /// Why it ended without the service's doing.
    pub trouble: Option<String>,
    /// When it ended.
    pub ended_at: Option<Duration>,
}

/// What an user knows besides what the service tells.
pub struct Context<'a> {
    pub plan: &'a Plan,
    pub site: Site,
}

impl Context<'_> {
    /// Whether hosts are added once the cluster is installed.
    fn grows(&self) -> bool {
        self.plan.shape.hosts < self.plan.all_hosts()
    }

    /// The user's own fault.
    fn fault(&self, index: u32) -> Option<Fault> {
        let mut faults = self.plan.strikes(index);
        faults.find(|fault| matches!(fault.kind, FaultKind::Cancel | FaultKind::Reset))
    }

    fn strikes(&self, index: u32, fault_kind: FaultKind) -> bool {
        self.plan.strikes(index).any(|fault| fault.kind == fault_kind)
    }
}

impl User {
    /// The user of the cluster number `index`.
    pub fn new(index: u32) -> Self {
        Self {
            index,
            phase: Phase::CreatesCluster,
            cluster_id: None,
            infra_env_id: None,
            look: ClusterView::default(),
            quiet_since: Duration::ZERO,
            hosts_set: false,
            network_set: false,
            installing: false,
            attempts: 0,
            added: None,
            interferes: false,
            has_interfered: false,
            timer: Timer::default(),
            trouble: None,
            ended_at: None,
        }
    }

    fn process(&self) -> Process {
        Process::User(self.index)
    }

    /// Begins: with a cluster that exists, or by creating one.
    pub fn start(&mut self, context: &Context<'_>, out: &mut ActionSink) -> Transition {
        match context.plan.existing {
            Some((cluster_id, infra_env_id)) => {
                (self.cluster_id, self.infra_env_id) = (Some(cluster_id), Some(infra_env_id));
                self.poll_later(context, out);
                Transition::InfraEnv(infra_env_id)
            }
            None => {
                let plan = context.plan;
                let mut body = json!({
                    "name": plan.cluster_name(self.index), "openshift_version": plan.version,
                    "base_dns_domain": "example.com", "pull_secret": plan.pull_secret,
                });
                request::merge(&mut body, plan.shape.topology.cluster_fields());
                request::merge(&mut body, plan.shape.network.cluster_fields(context.site));
                request::merge(&mut body, plan.shape.platform.cluster_fields());
                if context.strikes(self.index, FaultKind::OlmOperator) {
                    request::merge(&mut body, json!({"olm_operators": [{"name": OLM_OPERATOR}]}));
                }
                let path = format!("{BASE_PATH}/v2/clusters");
                out.send(Call::json(self.process(), Method::POST, path, &body));
                Transition::None
            }
        }
    }

    fn poll_later(&mut self, context: &Context<'_>, out: &mut ActionSink) {
        self.phase = Phase::Polls;
        let pause = patience(context.plan.look, out.now.saturating_sub(self.quiet_since));
        self.timer.set(pause, self.process(), out);
    }

    /// Its time has come.
    pub fn woken(&mut self, out: &mut ActionSink) {
        if self.timer.rings(out.now) && self.phase == Phase::Polls {
            self.send(Method::GET, "", &Value::Null, out);
        }
    }

    /// The moment has come to cancel or reset the installation.
    pub fn called(&mut self, out: &mut ActionSink) {
        self.interferes = !self.has_interfered;
        // Otherwise an answer is awaited, after which it looks soon.
        if self.timer.is_set() {
            self.timer.set(Duration::ZERO, self.process(), out);
        }
    }

    /// Asks something of the cluster.
    fn send(&self, method: Method, what: &str, body: &Value, out: &mut ActionSink) {
        let Some(id) = self.cluster_id else { return };
        let path = format!("{BASE_PATH}/v2/clusters/{id}{what}");
        out.send(match method {
            Method::GET => Call::get(self.process(), path),
            method => Call::json(self.process(), method, path, body),
        });
    }

    /// Whether it looks no more.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    fn end(&mut self, trouble: Option<String>, out: &ActionSink) {
        self.phase = Phase::Ended;
        self.trouble = trouble;
        self.ended_at = Some(out.now);
    }
}
