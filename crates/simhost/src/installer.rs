//! The installer on a host: the stages of each role as tables of tasks, and what carries them out.

use std::time::Duration;

use assisted_wire::cluster::ClusterKind;
use assisted_wire::host::{HostProgress, HostRole, HostStage};
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::operation::BASE_PATH;
use assisted_wire::probe_requests::InstallCmdRequest;
use assisted_wire::step::StepType;
use hyper::Method;
use serde::Deserialize;

use crate::action::{ActionSink, Call, Process, Response, Timer};
use crate::fault::{Fault, FaultKind, Trigger};
use crate::host::{self, SimHost};
use crate::kube::Kube;
use crate::logs;
use crate::random::Random;

/// Between two looks at what is waited for.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Between two reports of how much is written.
const WRITE: Duration = Duration::from_secs(18);
const WRITE_PERCENT: u8 = 5;
/// The delay of the shutdown command.
const SHUTDOWN: Duration = Duration::from_secs(60);
/// Control-plane nodes that must be done before a worker reboots.
const DONE_FOR_WORKERS: usize = 2;
/// Stands for the role in a report.
const ROLE: &str = "{role}";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Report(HostStage, &'static str),
    /// Something that takes so many seconds.
    Work(u64),
    FetchBootstrapIgnition,
    FetchHostIgnition,
    /// Starts the temporary control plane.
    Bootstrap,
    /// Writes the image, and reports how much of it.
    Write,
    AwaitControlPlane,
    AwaitController,
    /// Asks whether the cluster is being installed, or gets more hosts: then a worker has nothing to wait for.
    LearnKind,
    /// A worker's wait for control-plane nodes that are done, as the service knows them.
    AwaitMasters,
    Logs,
}

use HostStage::{
    Installing, Rebooting, StartingInstallation, WaitingForBootkube, WaitingForControlPlane,
    WaitingForController, WritingImageToDisk,
};
use Task::{
    AwaitControlPlane, AwaitController, AwaitMasters, Bootstrap, FetchBootstrapIgnition, FetchHostIgnition,
    LearnKind, Logs, Report, Work, Write,
};

const BOOTSTRAP: &[Task] = &[
    Report(StartingInstallation, "bootstrap"),
    Work(20),
    FetchBootstrapIgnition,
    Bootstrap,
    // From here on it is a control-plane node like the others.
    Report(Installing, "master"),
    FetchHostIgnition,
    Report(WritingImageToDisk, ""),
    Write,
    Report(WaitingForControlPlane, "Waiting for bootstrap node preparation"),
    Work(10),
    Report(WaitingForControlPlane, "Waiting for masters to join bootstrap control plane"),
    AwaitControlPlane,
    Report(WaitingForBootkube, ""),
    Work(60),
    Report(WaitingForBootkube, "waiting for ETCD bootstrap to be complete"),
    Work(90),
    Report(WaitingForController, "waiting for controller pod ready event"),
    AwaitController,
    Logs,
    Report(Rebooting, ""),
];

const SINGLE_NODE: &[Task] = &[
    Report(StartingInstallation, "bootstrap"),
    Work(20),
    FetchBootstrapIgnition,
    Bootstrap,
    Report(Installing, "bootstrap"),
    Report(WaitingForBootkube, ""),
    Work(480),
    FetchHostIgnition,
    Report(WritingImageToDisk, ""),
    Write,
    Logs,
    Report(Rebooting, ""),
];

const CONTROL_PLANE: &[Task] = &[
    Report(StartingInstallation, ROLE),
    Work(20),
    Report(Installing, ROLE),
    FetchHostIgnition,
    Report(WritingImageToDisk, ""),
    Write,
    Logs,
    Report(Rebooting, ""),
];

const WORKER: &[Task] = &[
    Report(StartingInstallation, ROLE),
    Work(20),
    Report(Installing, ROLE),
    FetchHostIgnition,
    Report(WritingImageToDisk, ""),
    Write,
    Report(WaitingForControlPlane, ""),
    LearnKind,
    AwaitMasters,
    Logs,
    Report(Rebooting, ""),
];

/// What an installer sees besides its own disk.
pub struct Context<'a> {
    pub host: &'a SimHost,
    /// Index of the cluster's first host.
    pub first: u32,
    /// Control-plane nodes and arbiters that the cluster will have.
    pub masters: u32,
    pub arbiters: u32,
    pub kube: &'a mut Kube,
    pub random: &'a mut Random,
}

/// How it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Going,
    /// The machine restarts after so long.
    Reboots(Duration),
    /// The installer has told why it can't go on.
    Failed,
}

/// An installer that runs.
#[derive(Debug)]
pub struct Installer {
    cluster_id: ClusterId,
    role: HostRole,
    tasks: &'static [Task],
    /// The task that is being done.
    place: u8,
    /// How much of the image is written.
    percent: u8,
    failing: bool,
    fault: Option<Fault>,
    timer: Timer,
}

impl Installer {
    /// The installer of an `install` step.
    pub fn new(command: &InstallCmdRequest, fault: Option<Fault>) -> Self {
        let tasks = match command.role {
            _ if command.control_plane_count == 1 && command.role != HostRole::Worker => SINGLE_NODE,
            HostRole::Bootstrap => BOOTSTRAP,
            HostRole::Worker | HostRole::AutoAssign => WORKER,
            HostRole::Master | HostRole::Arbiter => CONTROL_PLANE,
        };
        Self {
            cluster_id: command.cluster_id,
            role: command.role,
            tasks,
            place: 0,
            percent: 0,
            failing: false,
            fault,
            timer: Timer::default(),
        }
    }

    /// The stage whose report is under way.
    pub fn reporting(&self) -> Option<HostStage> {
        match self.task()? {
            Report(stage, _) if !self.failing => Some(stage),
            _ => None,
        }
    }

    /// What strikes the host that it runs on.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Starts.
    pub fn start(&mut self, host: &SimHost, out: &mut ActionSink) {
        self.pause(Duration::ZERO, host, out);
    }

    fn pause(&mut self, pause: Duration, host: &SimHost, out: &mut ActionSink) {
        self.timer.set(pause, Process::Installer(host.index), out);
    }

    /// The role of the node that the host becomes.
    pub fn node_role(&self) -> HostRole {
        match self.role {
            HostRole::Bootstrap => HostRole::Master,
            role => role,
        }
    }

    fn task(&self) -> Option<Task> {
        self.tasks.get(usize::from(self.place)).copied()
    }

    /// Its time has come.
    pub fn woken(&mut self, context: &mut Context<'_>, out: &mut ActionSink) -> Outcome {
        if self.timer.rings(out.now) { self.go_on(context, out) } else { Outcome::Going }
    }

    fn go_on(&mut self, context: &mut Context<'_>, out: &mut ActionSink) -> Outcome {
        let from = Process::Installer(context.host.index);
        loop {
            match self.task() {
                None if std::ptr::eq(self.tasks, SINGLE_NODE) => return Outcome::Reboots(Duration::ZERO),
                None => return Outcome::Reboots(SHUTDOWN),
                Some(Report(stage, info)) => {
                    let info = if info == ROLE { self.role.as_str() } else { info };
                    out.send(progress(from, context.host.path(), stage, info));
                }
                Some(Work(seconds)) => {
                    self.place += 1;
                    let pause = context.random.about(Duration::from_secs(seconds));
                    self.pause(pause, context.host, out);
                }
                Some(FetchBootstrapIgnition) => {
                    let path = "downloads/files?file_name=bootstrap.ign";
                    out.send(Call::get(from, format!("{BASE_PATH}/v2/clusters/{}/{path}", self.cluster_id)));
                }
                Some(FetchHostIgnition) => {
                    out.send(Call::get(from, context.host.ignition_path()));
                }
                Some(Bootstrap) => {
                    context.kube.bootstrap_started(out.now);
                    self.place += 1;
                    continue;
                }
                Some(Write) => {
                    let percent = format!("{}%", self.percent);
                    out.send(progress(from, context.host.path(), WritingImageToDisk, &percent));
                }
                Some(AwaitControlPlane | AwaitController) => {
                    if let Some((place, stage)) = context.kube.seen_by_bootstrap(out.now) {
                        let infra_env = context.kube.infra_env(place, context.host.infra_env_id);
                        out.send(progress_of(from, infra_env, context.first + place, stage));
                    } else if self.has_come(context, out.now) {
                        self.place += 1;
                        continue;
                    } else {
                        self.pause(POLL_INTERVAL, context.host, out);
                    }
                }
                Some(LearnKind) => {
                    let path = format!("{BASE_PATH}/v2/clusters/{}?exclude-hosts=true", self.cluster_id);
                    out.send(Call::get(from, path));
                }
                Some(AwaitMasters) => {
                    let path = format!("{BASE_PATH}/v2/clusters/{}/hosts?role=master", self.cluster_id);
                    out.send(Call::get(from, path));
                }
                Some(Logs) => {
                    let steps = Process::Step(context.host.index, StepType::LogsGather);
                    logs::of_host(context.host, self.cluster_id, steps, from, out);
                }
            }
            return Outcome::Going;
        }
    }

    fn has_come(&self, context: &Context<'_>, now: Duration) -> bool {
        match self.task() {
            Some(AwaitControlPlane) => {
                context.kube.control_plane_ready(context.masters, context.arbiters, now)
            }
            _ => context.kube.announced,
        }
    }

    /// The service has answered. A refused report stops no installer; it is counted by whoever runs the simulation.
    pub fn answered(
        &mut self,
        answer: &Response,
        context: &mut Context<'_>,
        out: &mut ActionSink,
    ) -> Outcome {
        if self.failing {
            return Outcome::Failed;
        }
        match self.task() {
            Some(Report(stage, _)) => {
                if self.fault.is_some_and(|fault| fault.is(FaultKind::Fail, Trigger::Stage(stage))) {
                    return self.fail("simulated failure", context, out);
                }
                if self.fault.is_some_and(|fault| fault.kind == FaultKind::WrongStage) {
                    mistake(context.host, self.role, stage, out);
                }
                self.place += 1;
            }
            Some(FetchBootstrapIgnition | FetchHostIgnition) => {
                if !answer.is_success() {
                    return self.fail(
                        &format!("failed to get ignition: status {}", answer.status),
                        context,
                        out,
                    );
                }
                self.place += 1;
            }
            Some(Write) => {
                self.percent += WRITE_PERCENT;
                if self.percent > 100 {
                    self.place += 1;
                } else {
                    let pause = context.random.about(WRITE);
                    self.pause(pause, context.host, out);
                    return Outcome::Going;
                }
            }
            Some(LearnKind) => match kind(answer) {
                Some(ClusterKind::AddHostsCluster) => self.place += 2,
                Some(_) => self.place += 1,
                None => {
                    self.pause(POLL_INTERVAL, context.host, out);
                    return Outcome::Going;
                }
            },
            Some(AwaitMasters) => {
                if done(answer) < DONE_FOR_WORKERS {
                    self.pause(POLL_INTERVAL, context.host, out);
                    return Outcome::Going;
                }
                self.place += 1;
            }
            Some(Logs) => self.place += 1,
            Some(AwaitControlPlane | AwaitController) => {}
            Some(Work(_) | Bootstrap) | None => return Outcome::Going,
        }
        self.go_on(context, out)
    }

    fn fail(&mut self, why: &str, context: &Context<'_>, out: &mut ActionSink) -> Outcome {
        self.failing = true;
        let from = Process::Installer(context.host.index);
        out.send(progress(from, context.host.path(), HostStage::Failed, why));
        Outcome::Going
    }
}

/// The report of the stage of the host with a path.
fn progress(from: Process, host: String, stage: HostStage, info: &str) -> Call {
    let progress = HostProgress { current_stage: Some(stage), progress_info: info.to_owned() };
    Call::json(from, Method::PUT, host + "/progress", &progress)
}

/// The report of somebody else that a host of an infra-env has reached a stage.
pub fn progress_of(from: Process, infra_env: InfraEnvId, index: u32, stage: HostStage) -> Call {
    progress(from, host::path(infra_env, index), stage, "").about(index)
}

/// Reports what no installer would after a stage: one that has passed, and one that its role does not have.
fn mistake(host: &SimHost, role: HostRole, stage: HostStage, out: &mut ActionSink) {
    let from = Process::Step(host.index, StepType::Install);
    let foreign = if role == HostRole::Worker { WaitingForBootkube } else { HostStage::WaitingForIgnition };
    let passed = Some(StartingInstallation).filter(|first| *first != stage);
    for stage in passed.into_iter().chain([foreign]) {
        out.send(progress(from, host.path(), stage, "by mistake"));
    }
}

/// The kind of the cluster in an answer.
fn kind(answer: &Response) -> Option<ClusterKind> {
    #[derive(Deserialize)]
    struct ClusterReply {
        kind: Option<ClusterKind>,
    }
    serde_json::from_slice::<ClusterReply>(&answer.body).ok()?.kind
}

/// How many of the hosts in an answer are done.
fn done(answer: &Response) -> usize {
    #[derive(Deserialize)]
    struct Listed {
        progress: Option<Stage>,
    }
    #[derive(Deserialize)]
    struct Stage {
        current_stage: Option<HostStage>,
    }
    let hosts: Vec<Listed> = serde_json::from_slice(&answer.body).unwrap_or_default();
    let stages = hosts.into_iter().filter_map(|host| host.progress?.current_stage);
    stages.filter(|stage| *stage == HostStage::Done).count()
}

#[cfg(test)]
mod tests;
