//! A simulated machine: its agent registers, polls and answers; its installer runs; it restarts, from the right medium or not.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use assisted_wire::host::HostRole;
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::InfraEnvId;
use assisted_wire::probe_requests::{InstallCmdRequest, LogsGatherCmdRequest, UpgradeAgentRequest};
use assisted_wire::step::{PostStepAction, Step, StepReply, StepType, Steps};
use hyper::Method;

use crate::action::{ActionSink, Call, Process, Response, Timer};
use crate::fault::{
    BOOT_REPAIR, CLOCK_OFF, Fault, FaultKind, FaultTarget, LATENESS, SILENCE, Trigger, is_of_node,
};
use crate::host::{self, SimHost};
use crate::installer::{Context, Installer, Outcome};
use crate::kube::Kube;
use crate::logs;
use crate::plan::Plan;
use crate::random::Random;
use crate::step;
use crate::topology::Build;
use crate::world::Site;

/// Machines are switched on within this time.
const SWITCHED_ON: Duration = Duration::from_secs(120);
/// From a restart to a running system: with a pause between two polls before it, less than a service takes for silence.
const BOOT: Duration = Duration::from_secs(90);
/// After a registration that failed.
const REGISTER_AGAIN: Duration = Duration::from_secs(60);
/// After a poll that failed: so long at first, half as long again each time, never longer than the last.
const POLL_AGAIN: Duration = Duration::from_millis(500);
const POLL_AGAIN_LAST: Duration = Duration::from_secs(60);
/// Between polls, if the service asks for no pause.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// Exit code of a step when the discovery image can't be read.
const UNREADABLE: i64 = 256;

/// What the machines of a cluster share.
pub struct ClusterContext<'a> {
    pub plan: &'a Plan,
    pub site: Site,
    /// Index of the cluster's first host.
    pub first: u32,
    pub kube: &'a mut Kube,
    /// The agent's version, which a service may ask all hosts to change.
    pub agent: &'a mut Arc<str>,
    /// Set when the user is to interfere now.
    pub calls_user: &'a mut bool,
    /// Index of the host that a fault has struck whose victim is known by its role.
    pub target: &'a mut Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not switched on, or restarting into the discovery image.
    Off,
    Registering,
    Polling,
    Pausing,
    /// Pauses, then registers again.
    Leaving,
    /// The agent waits for someone to restart it; the installer may run on.
    Stopped,
    /// Runs from its disk.
    Node,
    Dead,
}

/// A machine.
#[derive(Debug)]
pub struct Machine {
    pub host: SimHost,
    phase: Phase,
    timer: Timer,
    failures: u8,
    /// What was told last in a step of each type, as a hash: the same is not told twice.
    reported: [u32; StepType::ALL.len()],
    /// Types of steps, as bits, whose reply went out under a wrong name.
    mistaken: u32,
    /// Until when the discovery image boots although the disk should.
    stray_until: Option<Duration>,
    /// Until when the agent is not heard.
    silent_until: Option<Duration>,
    /// The discovery image can't be read.
    unreadable: bool,
    /// What happens at a moment has happened.
    has_struck: bool,
    installer: Option<Box<Installer>>,
    random: Random,
    /// What may strike it.
    fault: Option<Fault>,
    /// The role that it has in the installation, as soon as that is known.
    role: Option<HostRole>,
}

impl Machine {
    /// A machine that is off.
    pub fn new(host: SimHost, fault: Option<Fault>, random: Random) -> Self {
        Self {
            host,
            phase: Phase::Off,
            timer: Timer::default(),
            failures: 0,
            reported: [0; _],
            mistaken: 0,
            stray_until: None,
            silent_until: None,
            unreadable: false,
            has_struck: false,
            installer: None,
            random,
            fault,
            role: None,
        }
    }

    /// It is to be installed in this role.
    pub fn gets(&mut self, role: HostRole) {
        self.role = Some(role);
    }

    /// What strikes it, if it is the one that is struck.
    fn struck(&self, context: &mut ClusterContext<'_>) -> Option<Fault> {
        let fault = self.fault?;
        let FaultTarget::Role(wanted) = fault.target else { return Some(fault) };
        let role = self.role.or(match self.host.build {
            Build::Worker => Some(HostRole::Worker),
            Build::Arbiter => Some(HostRole::Arbiter),
            Build::ControlPlane if context.plan.shape.hosts == 1 => Some(HostRole::Bootstrap),
            Build::ControlPlane => fault.is_early().then_some(HostRole::Master),
        });
        if context.target.is_none() && role == Some(wanted) {
            *context.target = Some(self.host.index);
        }
        Some(fault).filter(|_| *context.target == Some(self.host.index))
    }

    fn fault_kind(&self, context: &mut ClusterContext<'_>) -> Option<FaultKind> {
        self.struck(context).map(|fault| fault.kind)
    }

    fn agent(&self) -> Process {
        Process::Agent(self.host.index)
    }

    /// Switches it on, or off and on, with a discovery image in its drive.
    pub fn switch_on(&mut self, infra_env_id: InfraEnvId, out: &mut ActionSink) {
        if self.phase == Phase::Dead {
            return;
        }
        self.host.move_to(infra_env_id);
        let millis = u32::try_from(SWITCHED_ON.as_millis()).unwrap_or(u32::MAX);
        let delay = Duration::from_millis(u64::from(self.random.below(millis)));
        self.restart(delay, out);
    }

    /// Restarts from the discovery image.
    fn restart(&mut self, delay: Duration, out: &mut ActionSink) {
        self.phase = Phase::Off;
        (self.installer, self.role) = (None, None);
        (self.stray_until, self.silent_until) = (None, None);
        self.sleep(delay, out);
    }

    fn sleep(&mut self, pause: Duration, out: &mut ActionSink) {
        self.timer.set(pause, self.agent(), out);
    }

    /// A moment comes at which something may go wrong; false if the machine does nothing more.
    fn comes(&mut self, trigger: Trigger, context: &mut ClusterContext<'_>, out: &mut ActionSink) -> bool {
        let comes = self.fault.is_some_and(|fault| fault.kind.has_trigger() && fault.trigger == trigger);
        if self.has_struck || !comes {
            return true;
        }
        let Some(fault) = self.struck(context) else { return true };
        self.has_struck = true;
        match fault.kind {
            FaultKind::Die => {
                self.phase = Phase::Dead;
                return false;
            }
            FaultKind::Restart => {
                self.restart(BOOT, out);
                return false;
            }
            FaultKind::Silence => self.silent_until = Some(out.now + SILENCE),
            FaultKind::Media => self.unreadable = true,
            FaultKind::Cancel | FaultKind::Reset => *context.calls_user = true,
            _ => {}
        }
        true
    }

    /// The agent's time has come.
    pub fn woken(&mut self, context: &mut ClusterContext<'_>, out: &mut ActionSink) {
        if !self.timer.rings(out.now) {
            return;
        }
        if let Some(until) = self.silent_until.filter(|until| *until > out.now) {
            return self.sleep(until.saturating_sub(out.now), out);
        }
        if self.stray_until.is_some_and(|until| until <= out.now) {
            self.boot_from_disk(Duration::ZERO, context, out);
            return;
        }
        match self.phase {
            Phase::Off | Phase::Registering | Phase::Leaving => self.register(context.agent, out),
            Phase::Pausing => self.poll(context, out),
            Phase::Polling | Phase::Stopped | Phase::Node | Phase::Dead => {}
        }
    }

    fn register(&mut self, version: &str, out: &mut ActionSink) {
        self.phase = Phase::Registering;
        self.timer.clear();
        let body = HostCreateParams { host_id: self.host.id, discovery_agent_version: version.to_owned() };
        out.send(Call::json(self.agent(), Method::POST, self.host.hosts_path(), &body));
    }

    fn poll(&mut self, context: &mut ClusterContext<'_>, out: &mut ActionSink) {
        self.phase = Phase::Polling;
        let ahead = match self.fault_kind(context) {
            Some(FaultKind::Clock) => CLOCK_OFF,
            Some(FaultKind::ClockBehind) => -CLOCK_OFF,
            _ => 0,
        };
        let path = format!("{}?timestamp={}", self.host.instructions_path(), out.unix + ahead);
        out.send(Call::get(self.agent(), path));
    }

    /// The service has answered the agent's registration or poll.
    pub fn answered(&mut self, answer: &Response, context: &mut ClusterContext<'_>, out: &mut ActionSink) {
        match (self.phase, answer.status) {
            (Phase::Registering, 201) => {
                self.reported = [0; _];
                self.poll(context, out);
            }
            (Phase::Registering, 401 | 403 | 404 | 409) | (Phase::Polling, 404) => {
                self.phase = Phase::Stopped;
                if let Some(until) = self.stray_until {
                    self.sleep(until.saturating_sub(out.now), out);
                }
            }
            (Phase::Registering, _) => self.sleep(REGISTER_AGAIN, out),
            (Phase::Polling, 200) => {
                self.failures = 0;
                let Ok(steps) = serde_json::from_slice::<Steps>(&answer.body) else {
                    return self.poll_again(out);
                };
                self.phase = match steps.post_step_action {
                    Some(PostStepAction::Exit) => Phase::Leaving,
                    _ => Phase::Pausing,
                };
                let pause =
                    Duration::from_secs(steps.next_instruction_seconds.try_into().unwrap_or_default());
                self.sleep(pause.max(LEAST_PAUSE), out);
                for step in steps.instructions.iter().flatten() {
                    if !self.run(step, context, out) {
                        break;
                    }
                }
            }
            (Phase::Polling, _) => self.poll_again(out),
            _ => {}
        }
    }

    fn poll_again(&mut self, out: &mut ActionSink) {
        self.reported = [0; _];
        self.phase = Phase::Pausing;
        let pause = POLL_AGAIN.mul_f64(1.5_f64.powi(i32::from(self.failures))).min(POLL_AGAIN_LAST);
        self.failures = (self.failures + 1).min(20);
        let pause = self.random.about(pause);
        self.sleep(pause, out);
    }

    /// Runs a step; false if the machine does nothing more.
    fn run(&mut self, step: &Step, context: &mut ClusterContext<'_>, out: &mut ActionSink) -> bool {
        let Some(kind) = step.step_type else { return true };
        let goes_on = match kind {
            StepType::Inventory => self.comes(Trigger::Discovery, context, out),
            StepType::InstallationDiskSpeedCheck | StepType::ContainerImageAvailability => {
                self.comes(Trigger::Preparing, context, out)
            }
            _ => true,
        };
        if !goes_on {
            return false;
        }
        let argument = step.args.iter().flatten().next().map_or("", String::as_str);
        let fault_kind = self.fault_kind(context);
        let mut reply = step::reply(&self.host, context.site, fault_kind, step);
        match kind {
            StepType::Install if self.installer.is_some() => {
                reply.exit_code = 125;
                reply.error =
                    "the container name \"assisted-installer\" is already in use by another container"
                        .to_owned();
            }
            StepType::Install => match serde_json::from_str::<InstallCmdRequest>(argument) {
                Ok(command) => {
                    self.role = Some(command.role);
                    let mut installer = Installer::new(&command, self.struck(context));
                    installer.start(&self.host, out);
                    self.installer = Some(Box::new(installer));
                    // The step lasts as long as the installer: it has no reply before the restart.
                    return true;
                }
                Err(error) => (reply.exit_code, reply.error) = (-1, error.to_string()),
            },
            StepType::StopInstallation => self.installer = None,
            StepType::LogsGather => match serde_json::from_str::<LogsGatherCmdRequest>(argument) {
                Ok(command) => {
                    let from = Process::Step(self.host.index, kind);
                    logs::of_host(&self.host, command.cluster_id, from, from, out);
                }
                Err(error) => (reply.exit_code, reply.error) = (-1, error.to_string()),
            },
            StepType::UpgradeAgent => {
                if let Ok(UpgradeAgentRequest { agent_image }) = serde_json::from_str(argument)
                    && **context.agent != agent_image
                {
                    *context.agent = agent_image.into();
                }
            }
            StepType::RebootForReclaim => self.restart(BOOT, out),
            _ => {}
        }
        if fault_kind == Some(FaultKind::WrongHost) && kind == StepType::ConnectivityCheck {
            self.pose(argument, context, out);
        }
        self.send_reply(kind, reply, fault_kind, out);
        true
    }

    /// Tells what is in this host as another's, as soon as the other is among the `peers`.
    fn pose(&mut self, peers: &str, context: &ClusterContext<'_>, out: &mut ActionSink) {
        let place = (self.host.index - context.first + 1) % context.plan.shape.hosts;
        let infra_env = context.kube.infra_env(place, self.host.infra_env_id);
        let peer = host::path(infra_env, context.first + place);
        let known = peer.rsplit('/').next().is_some_and(|id| peers.contains(id));
        if self.has_struck || !known {
            return;
        }
        self.has_struck = true;
        if let Ok(reply) = self.host.inventory_reply(0) {
            let from = Process::Step(self.host.index, StepType::Inventory);
            out.send(Call::json(from, Method::POST, peer + "/instructions", &reply));
        }
    }

    /// Sends a reply, unless the last one of its type said the same.
    fn send_reply(
        &mut self,
        kind: StepType,
        mut reply: StepReply,
        fault_kind: Option<FaultKind>,
        out: &mut ActionSink,
    ) {
        if self.silent_until.is_some_and(|until| until > out.now) {
            return;
        }
        if std::mem::take(&mut self.unreadable) {
            reply.exit_code = UNREADABLE;
            reply.output.clear();
            reply.error = "the discovery media can't be read".to_owned();
        }
        let mut hasher = DefaultHasher::new();
        reply.output.hash(&mut hasher);
        let hash = u32::try_from(hasher.finish() >> 32).unwrap_or_default() | 1;
        let Some(known) = self.reported.get_mut(kind as usize) else { return };
        if reply.exit_code == 0 && *known == hash {
            return;
        }
        *known = if reply.exit_code == 0 { hash } else { 0 };
        let mut delay = step::duration(kind, &mut self.random);
        let bit = 1 << kind as u32;
        match fault_kind {
            Some(FaultKind::WrongType) if self.mistaken & bit == 0 => {
                self.mistaken |= bit;
                *known = 0;
                reply.step_type = StepType::ALL.get((kind as usize + 1) % StepType::ALL.len()).copied();
            }
            Some(FaultKind::Disorder) if self.random.below(2) == 0 => delay += LATENESS,
            Some(FaultKind::Delay) => delay += LATENESS,
            _ => {}
        }
        let from = Process::Step(self.host.index, kind);
        let call = Call::json(from, Method::POST, self.host.instructions_path(), &reply);
        if fault_kind == Some(FaultKind::Double) {
            out.send_after(delay, call.clone());
        }
        out.send_after(delay, call);
    }

    /// The service has answered a step's reply.
    pub fn reply_answered(
        &mut self,
        kind: StepType,
        answer: &Response,
        context: &ClusterContext<'_>,
        out: &mut ActionSink,
    ) {
        if !answer.is_success()
            && let Some(known) = self.reported.get_mut(kind as usize)
        {
            *known = 0;
        }
        let upgraded = kind == StepType::UpgradeAgent && answer.is_success();
        if upgraded && matches!(self.phase, Phase::Pausing | Phase::Polling) {
            self.register(context.agent, out);
        }
    }

    /// The installer's time has come, or the service has answered it.
    pub fn install(
        &mut self,
        answer: Option<&Response>,
        context: &mut ClusterContext<'_>,
        out: &mut ActionSink,
    ) {
        if matches!(self.phase, Phase::Node | Phase::Dead) || self.stray_until.is_some() {
            return;
        }
        let reported =
            self.installer.as_ref().filter(|_| answer.is_some()).and_then(|installer| installer.reporting());
        if let Some(stage) = reported
            && !self.comes(Trigger::Stage(stage), context, out)
        {
            return;
        }
        let Some(installer) = &mut self.installer else { return };
        let mut seen = Context {
            host: &self.host,
            first: context.first,
            masters: context.plan.shape.topology.control_plane(),
            arbiters: context.plan.shape.topology.arbiters(),
            kube: context.kube,
            random: &mut self.random,
        };
        let outcome = match answer {
            Some(answer) => installer.answered(answer, &mut seen, out),
            None => installer.woken(&mut seen, out),
        };
        match outcome {
            Outcome::Going | Outcome::Failed => {}
            Outcome::Reboots(delay) if self.fault_kind(context) == Some(FaultKind::WrongBoot) => {
                self.phase = Phase::Off;
                self.sleep(delay + BOOT, out);
                self.stray_until = Some(out.now + delay + BOOT + BOOT_REPAIR);
            }
            Outcome::Reboots(delay) => self.boot_from_disk(delay, context, out),
        }
    }

    fn boot_from_disk(&mut self, delay: Duration, context: &mut ClusterContext<'_>, out: &ActionSink) {
        self.phase = Phase::Node;
        self.stray_until = None;
        let Some(installer) = &self.installer else { return };
        let role = installer.node_role();
        let stuck = match installer.fault() {
            Some(Fault { kind: FaultKind::Die, trigger: Trigger::Stage(stage), .. }) => {
                Some(stage).filter(|stage| is_of_node(*stage))
            }
            _ => None,
        };
        let place = self.host.index - context.first;
        let booted = out.now + delay + self.random.about(BOOT);
        context.kube.booted(place, role, booted, stuck, &mut self.random);
    }
}

#[cfg(test)]
mod tests;
