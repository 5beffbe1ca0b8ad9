//! The installer on a host: the stages of each role as tables of tasks, and what carries them out.

use std::time::Duration;

use assisted_wire::cluster::ClusterKind;
use assisted_wire::host::{HostProgress, HostRole, HostStage};
use assisted_wire::id::ClusterId;
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
                        let peer = host::path(context.host.infra_env_id, context.first + place);
                        out.send(progress(from, peer, stage, ""));
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
pub fn progress(from: Process, host: String, stage: HostStage, info: &str) -> Call {
    let progress = HostProgress { current_stage: Some(stage), progress_info: info.to_owned() };
    Call::json(from, Method::PUT, host + "/progress", &progress)
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
mod tests {
    use assisted_wire::id::InfraEnvId;
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;
    use crate::action::Effect;
    use crate::topology::Build;
    use crate::world::{Needs, Site};

    fn command(role: HostRole, control_plane_count: i64) -> InstallCmdRequest {
        serde_json::from_value(json!({
            "cluster_id": ClusterId::default(), "infra_env_id": InfraEnvId::default(),
            "host_id": "00000000-0000-0000-0000-000000000001", "role": role, "boot_device": "/dev/sda",
            "controller_image": "quay.io/a/controller:1", "installer_image": "quay.io/a/installer:1",
            "control_plane_count": control_plane_count,
        }))
        .unwrap()
    }

    /// Runs an installer against a service that accepts everything; other hosts boot as soon as they may.
    fn run(role: HostRole, masters: u32, fault: Option<&str>) -> (Outcome, Vec<(String, String)>) {
        let done = r#"[{"progress":{"current_stage":"Done"}},{"progress":{"current_stage":"Done"}}]"#;
        run_in(r#"{"kind":"Cluster"}"#, done, role, masters, fault)
    }

    /// The same in a cluster of a kind, with hosts that are done.
    fn run_in(
        kind: &'static str,
        done: &'static str,
        role: HostRole,
        masters: u32,
        fault: Option<&str>,
    ) -> (Outcome, Vec<(String, String)>) {
        let needs = Needs { hosts: masters, vips: masters > 1, dual: false };
        let site = Site::new(0, needs).unwrap();
        let host = SimHost::at(InfraEnvId::default(), 0, site.host(0), Build::ControlPlane);
        let mut kube = Kube::new(masters);
        let mut random = Random::new(1);
        let fault = fault.map(|fault| fault.parse().unwrap());
        let mut installer = Installer::new(&command(role, i64::from(masters)), fault);
        let mut reports = Vec::new();
        let mut now = Duration::ZERO;
        let mut answer = None;
        let mut out = ActionSink::new(now, 0);
        installer.start(&host, &mut out);
        for _ in 0..10_000 {
            let mut out = ActionSink::new(now, 0);
            for place in 1..masters {
                kube.booted(place, HostRole::Master, now, None, &mut random);
            }
            kube.announced = kube.has_controller(now);
            let mut context =
                Context { host: &host, first: 0, masters, arbiters: 0, kube: &mut kube, random: &mut random };
            let outcome = match answer.take() {
                Some(answer) => installer.answered(&answer, &mut context, &mut out),
                None => installer.woken(&mut context, &mut out),
            };
            if outcome != Outcome::Going {
                return (outcome, reports);
            }
            let own = Process::Installer(0);
            for (delay, effect) in out.take() {
                match effect {
                    Effect::Wake(process) => {
                        assert_eq!(process, own);
                        now += delay;
                    }
                    Effect::Send(call) => {
                        if call.path.ends_with("/progress") {
                            let body: Value = serde_json::from_slice(&call.body).unwrap();
                            let of = if call.path.contains(&host.id.to_string()) { "own" } else { "peer" };
                            reports.push((of.to_owned(), body["current_stage"].as_str().unwrap().to_owned()));
                        }
                        if call.from == own {
                            let body = match &call.path {
                                path if path.contains("role=master") => done,
                                path if path.contains("exclude-hosts") => kind,
                                _ => "",
                            };
                            answer =
                                Some(Response { status: 200, body: Bytes::from_static(body.as_bytes()) });
                        }
                    }
                }
            }
        }
        panic!("it does not end: {reports:?}");
    }

    fn own(reports: &[(String, String)]) -> Vec<&str> {
        let mut stages: Vec<_> =
            reports.iter().filter(|(of, _)| of == "own").map(|(_, stage)| stage.as_str()).collect();
        stages.dedup();
        stages
    }

    #[test]
    fn each_role_walks_its_stages() {
        let (outcome, reports) = run(HostRole::Bootstrap, 3, None);
        assert_eq!(outcome, Outcome::Reboots(SHUTDOWN));
        assert_eq!(
            own(&reports),
            [
                "Starting installation",
                "Installing",
                "Writing image to disk",
                "Waiting for control plane",
                "Waiting for bootkube",
                "Waiting for controller",
                "Rebooting"
            ]
        );
        let peers: Vec<_> =
            reports.iter().filter(|(of, _)| of == "peer").map(|(_, stage)| stage.as_str()).collect();
        assert_eq!(peers.iter().filter(|stage| **stage == "Joined").count(), 2, "{peers:?}");

        let (outcome, reports) = run(HostRole::Bootstrap, 1, None);
        assert_eq!(outcome, Outcome::Reboots(Duration::ZERO));
        assert_eq!(
            own(&reports),
            [
                "Starting installation",
                "Installing",
                "Waiting for bootkube",
                "Writing image to disk",
                "Rebooting"
            ]
        );
        let (_, reports) = run(HostRole::Arbiter, 3, None);
        assert_eq!(
            own(&reports),
            ["Starting installation", "Installing", "Writing image to disk", "Rebooting"]
        );
        let (_, reports) = run(HostRole::Worker, 3, None);
        assert!(own(&reports).contains(&"Waiting for control plane"));
    }

    #[test]
    fn it_fails_where_it_is_to() {
        let (outcome, reports) = run(HostRole::Master, 3, Some("fail@installing"));
        assert_eq!((outcome, reports.last().unwrap().1.as_str()), (Outcome::Failed, "Failed"));
        assert_eq!(own(&reports), ["Starting installation", "Installing", "Failed"]);
        let (_, reports) = run(HostRole::Master, 3, Some("wrong-stage"));
        let wrong = reports.iter().filter(|(_, stage)| stage == "Waiting for ignition").count();
        assert_eq!(wrong, 3, "{reports:?}");
    }

    #[test]
    fn a_worker_that_is_added_waits_for_nobody() {
        let (outcome, reports) = run_in(r#"{"kind":"AddHostsCluster"}"#, "[]", HostRole::Worker, 3, None);
        assert_eq!(outcome, Outcome::Reboots(SHUTDOWN));
        assert_eq!(own(&reports).last(), Some(&"Rebooting"));
    }
}
