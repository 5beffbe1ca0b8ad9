//! The controller in a cluster that forms: tells which nodes have come, and finishes the installation.

use std::collections::VecDeque;
use std::time::Duration;

use assisted_wire::cluster::{ClusterProgressInfo, ClusterStatus, FinalizingStage};
use assisted_wire::cluster_params::{ClusterFinalizingProgress, CompletionParams, IngressCertParams};
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::operation::BASE_PATH;
use assisted_wire::operator::{
    MonitoredOperator, MonitoredOperatorsList, OperatorMonitorReport, OperatorStatus, OperatorType,
};
use hyper::Method;
use serde::{Deserialize, Serialize};

use crate::action::{ActionSink, Call, Process, Response, Timer, patience};
use crate::fault::FaultKind;
use crate::installer::progress_of;
use crate::kube::Kube;
use crate::logs;

/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// How long cluster operators take until they are available.
const OPERATORS: Duration = Duration::from_secs(5 * 60);
/// The certificate authority of the cluster's router; its key is nowhere.
///
/// With a remark, in one line and without a last line end: a cluster's bundle may be any PEM.
const INGRESS_CA: &str = include_str!("ingress-ca.pem");

/// What happens after the nodes have come, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The cluster does not run yet, or the controller in it.
    Absent,
    /// Tells of the nodes.
    Nodes,
    /// Waits for the cluster's operators, which began to start then.
    Operators(Duration),
    /// Sees what OLM has to install.
    Olm,
    /// Waits for what OLM installs.
    OlmOperators,
    /// Has told what the service waits for. It takes no further stage when that was enough for it, and it is given the
    /// time to notice.
    Settled,
    Finished,
    Gone,
}

/// What a request that is under way was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Nothing,
    Report,
    Cluster,
    Operators,
}

/// A controller.
#[derive(Debug)]
pub struct Controller {
    index: u32,
    phase: Phase,
    pending: Pending,
    /// What is sent next, one after the other.
    queue: VecDeque<Call>,
    /// The cluster is looked at when everything is sent.
    looks: bool,
    /// When it last told anything.
    reported_at: Duration,
    timer: Timer,
}

/// What a controller sees.
pub struct Context<'a> {
    pub cluster_id: ClusterId,
    pub infra_env_id: InfraEnvId,
    /// Number of the cluster's first host.
    pub first: u32,
    pub kube: &'a mut Kube,
    /// What strikes the cluster.
    pub fault_kinds: &'a [FaultKind],
}

#[derive(Deserialize)]
struct ClusterReply {
    status: ClusterStatus,
    #[serde(default)]
    progress: Option<ClusterProgressInfo>,
}

impl Controller {
    /// The controller of the cluster number `index`, before there is a cluster.
    pub fn new(index: u32) -> Self {
        Self {
            index,
            phase: Phase::Absent,
            pending: Pending::Nothing,
            queue: VecDeque::new(),
            looks: false,
            reported_at: Duration::ZERO,
            timer: Timer::default(),
        }
    }

    fn process(&self) -> Process {
        Process::Controller(self.index)
    }

    /// Its cluster is being installed, perhaps not for the first time.
    pub fn start(&mut self, out: &mut ActionSink) {
        // What an earlier installation's controller has under way is answered to nobody.
        *self = Self { reported_at: out.now, ..Self::new(self.index) };
        self.sleep(out);
    }

    fn sleep(&mut self, out: &mut ActionSink) {
        let pause = patience(POLL_INTERVAL, out.now.saturating_sub(self.reported_at));
        self.timer.set(pause, self.process(), out);
    }

    /// Its time has come.
    pub fn woken(&mut self, context: &mut Context<'_>, out: &mut ActionSink) {
        if !self.timer.rings(out.now) {
            return;
        }
        if self.phase == Phase::Absent {
            if !context.kube.has_controller(out.now) {
                return self.sleep(out);
            }
            self.phase = Phase::Nodes;
        }
        while let Some((place, stage)) = context.kube.seen_by_controller(out.now) {
            let infra_env = context.kube.infra_env(place, context.infra_env_id);
            self.queue.push_back(progress_of(self.process(), infra_env, context.first + place, stage));
        }
        self.looks = true;
        self.go_on(context, out);
    }

    /// Sends what is next; then looks at the cluster, or rests.
    fn go_on(&mut self, context: &Context<'_>, out: &mut ActionSink) {
        if let Some(call) = self.queue.pop_front() {
            (self.pending, self.reported_at) = (Pending::Report, out.now);
            out.send(call);
        } else if std::mem::take(&mut self.looks) {
            self.pending = Pending::Cluster;
            out.send(Call::get(self.process(), path(context, "?exclude-hosts=true")));
        } else {
            self.pending = Pending::Nothing;
            if self.phase != Phase::Gone {
                self.sleep(out);
            }
        }
    }

    /// The service has answered.
    pub fn answered(&mut self, answer: &Response, context: &mut Context<'_>, out: &mut ActionSink) {
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => return,
            Pending::Report => {}
            Pending::Cluster => {
                if self.reconcile(answer, context, out) {
                    self.pending = Pending::Operators;
                    out.send(Call::get(self.process(), path(context, "/monitored-operators")));
                    return;
                }
            }
            Pending::Operators => self.operators(answer, context, out),
        }
        self.go_on(context, out);
    }

    /// Looks at the cluster; true if the operators are to be looked at too.
    fn reconcile(&mut self, answer: &Response, context: &mut Context<'_>, out: &ActionSink) -> bool {
        if answer.status == 404 {
            self.phase = Phase::Gone;
            return false;
        }
        let Ok(ClusterReply { status, progress }) = serde_json::from_slice(&answer.body) else {
            return false;
        };
        use ClusterStatus::{AddingHosts, Cancelled, Error, Installed};
        // The event that it is ready comes after the first answer of the service.
        context.kube.announced = true;
        match (status, self.phase) {
            (AddingHosts | Installed | Error | Cancelled, _) => {
                if matches!(status, AddingHosts | Installed) && self.phase != Phase::Finished {
                    self.complete(context);
                }
                self.queue.extend(logs::of_controller(context.cluster_id, self.process()));
                self.phase = Phase::Gone;
                false
            }
            (ClusterStatus::Finalizing, Phase::Nodes) => {
                self.report_stage(context, FinalizingStage::WaitingForClusterOperators);
                self.phase = Phase::Operators(out.now);
                false
            }
            (ClusterStatus::Finalizing, Phase::OlmOperators) => {
                let gives_up = progress.is_some_and(|progress| progress.finalizing_stage_timed_out);
                gives_up || !context.fault_kinds.contains(&FaultKind::OlmOperator)
            }
            (ClusterStatus::Finalizing, Phase::Operators(_) | Phase::Olm) => true,
            (ClusterStatus::Finalizing, Phase::Settled) => {
                self.report_stage(context, FinalizingStage::Done);
                self.complete(context);
                self.phase = Phase::Finished;
                false
            }
            _ => false,
        }
    }

    /// Cluster operators first, then the router's certificates, then the operators of OLM.
    fn operators(&mut self, answer: &Response, context: &Context<'_>, out: &ActionSink) {
        let Ok(MonitoredOperatorsList(operators)) = serde_json::from_slice(&answer.body) else { return };
        let of = |kind| operators.iter().filter(move |operator| operator.operator_type == Some(kind));
        match self.phase {
            Phase::Operators(since) => {
                let started = since + OPERATORS <= out.now
                    && !context.fault_kinds.contains(&FaultKind::ClusterOperator);
                let status = if started { OperatorStatus::Available } else { OperatorStatus::Progressing };
                for operator in of(OperatorType::Builtin).filter(|operator| operator.status != Some(status)) {
                    self.report_operator(context, operator, status);
                }
                if started {
                    self.report_stage(context, FinalizingStage::AddingRouterCa);
                    self.post(context, "/uploads/ingress-cert", &IngressCertParams(INGRESS_CA.to_owned()));
                    self.phase = Phase::Olm;
                }
            }
            Phase::Olm => {
                self.report_stage(context, FinalizingStage::WaitingForOlmOperatorsCsvInitialization);
                if of(OperatorType::Olm).next().is_none() {
                    self.phase = Phase::Settled;
                    return;
                }
                self.report_stage(context, FinalizingStage::ApplyingOlmManifests);
                self.report_stage(context, FinalizingStage::WaitingForOlmOperatorsCsv);
                for operator in of(OperatorType::Olm) {
                    self.report_operator(context, operator, OperatorStatus::Progressing);
                }
                self.phase = Phase::OlmOperators;
            }
            Phase::OlmOperators => {
                let failed = context.fault_kinds.contains(&FaultKind::OlmOperator);
                let status = if failed { OperatorStatus::Failed } else { OperatorStatus::Available };
                for operator in of(OperatorType::Olm) {
                    self.report_operator(context, operator, status);
                }
                self.phase = Phase::Settled;
            }
            Phase::Absent | Phase::Nodes | Phase::Settled | Phase::Finished | Phase::Gone => {}
        }
    }

    fn complete(&mut self, context: &Context<'_>) {
        let completion = CompletionParams { is_success: true, ..CompletionParams::default() };
        self.post(context, "/actions/complete-installation", &completion);
    }

    fn report_stage(&mut self, context: &Context<'_>, stage: FinalizingStage) {
        let body = ClusterFinalizingProgress { finalizing_stage: Some(stage) };
        self.put(context, "/progress", &body);
    }

    fn report_operator(
        &mut self,
        context: &Context<'_>,
        operator: &MonitoredOperator,
        status: OperatorStatus,
    ) {
        let status_info = match status {
            OperatorStatus::Available => "All is well",
            OperatorStatus::Progressing => "Working towards the desired state",
            OperatorStatus::Failed => "Waiting for operator timed out",
        };
        let body = OperatorMonitorReport {
            name: operator.name.clone(),
            version: operator.version.clone(),
            status: Some(status),
            status_info: status_info.to_owned(),
        };
        self.put(context, "/monitored-operators", &body);
    }

    fn put<T: Serialize>(&mut self, context: &Context<'_>, what: &str, body: &T) {
        self.queue.push_back(Call::json(self.process(), Method::PUT, path(context, what), body));
    }

    fn post<T: Serialize>(&mut self, context: &Context<'_>, what: &str, body: &T) {
        self.queue.push_back(Call::json(self.process(), Method::POST, path(context, what), body));
    }
}

/// Path of something of the cluster.
fn path(context: &Context<'_>, what: &str) -> String {
    format!("{BASE_PATH}/v2/clusters/{}{what}", context.cluster_id)
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostRole;
    use serde_json::{Value, json};

    use super::*;
    use crate::action::Effect;
    use crate::random::Random;

    /// Runs a controller against a service that goes to `finalizing` when all nodes are done, and to `installed` when it
    /// was told that so much is done. A stage that lasts longer than two hours has timed out.
    fn run(operators: &Value, fault_kinds: &[FaultKind], last: &str) -> Vec<String> {
        let mut kube = Kube::new(3);
        kube.bootstrap_started(Duration::ZERO);
        let booted = Duration::from_secs(60);
        for place in 0..3 {
            kube.booted(place, HostRole::Master, booted, None, &mut Random::new(place.into()));
        }
        let mut controller = Controller::new(0);
        let mut requests = Vec::new();
        let (mut now, mut answer, mut done, mut status) = (Duration::ZERO, None::<Response>, 0, "installing");
        let mut stage_since = now;
        let mut out = ActionSink::new(now, 0);
        controller.start(&mut out);
        now += out.take().pop().unwrap().0;
        for _ in 0..1000 {
            let mut out = ActionSink::new(now, 0);
            let mut context = Context {
                cluster_id: ClusterId::default(),
                infra_env_id: InfraEnvId::default(),
                first: 0,
                kube: &mut kube,
                fault_kinds,
            };
            match answer.take() {
                Some(answer) => controller.answered(&answer, &mut context, &mut out),
                None => controller.woken(&mut context, &mut out),
            }
            let effects = out.take();
            if effects.is_empty() {
                return requests;
            }
            for (delay, effect) in effects {
                let Effect::Send(call) = effect else {
                    now += delay;
                    continue;
                };
                let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
                let path = call.path.trim_start_matches(BASE_PATH).to_owned();
                done += usize::from(body["current_stage"] == "Done");
                if done == 3 && status == "installing" {
                    status = "finalizing";
                }
                let what = path.rsplit('/').next().unwrap();
                if body["finalizing_stage"].is_string() {
                    stage_since = now;
                }
                let detail = [&body["finalizing_stage"], &body["current_stage"], &body["status"]];
                let detail = detail.into_iter().find_map(Value::as_str).unwrap_or_default();
                let told = format!("{what} {detail} {}", body["name"].as_str().unwrap_or_default());
                if call.method != Method::GET {
                    requests.push(told.trim().to_owned());
                    if told.trim() == last {
                        status = "installed";
                    }
                }
                let timed_out = now - stage_since > Duration::from_secs(7200);
                let answered = match path.contains("monitored-operators") && call.method == Method::GET {
                    true => operators.clone(),
                    false => json!({"status": status, "progress": {"finalizing_stage_timed_out": timed_out}}),
                };
                let body = answered.to_string().into();
                answer = Some(Response { status: 200, body, repeated: false });
            }
        }
        panic!("it does not end: {requests:?}");
    }

    fn both() -> Value {
        json!([{"name": "console", "operator_type": "builtin"}, {"name": "lvm", "operator_type": "olm"}])
    }

    #[test]
    fn nodes_operators_certificate_completion_logs() {
        let requests = run(&both(), &[], "complete-installation");
        let at = |text: &str| {
            requests
                .iter()
                .position(|request| request == text)
                .unwrap_or_else(|| panic!("{text}: {requests:?}"))
        };
        let order = [
            "progress Joined",
            "progress Done",
            "progress Waiting for cluster operators",
            "monitored-operators progressing console",
            "monitored-operators available console",
            "progress Adding router ca",
            "ingress-cert",
            "progress Waiting for olm operators csv initialization",
            "progress Applying olm manifests",
            "progress Waiting for olm operators csv",
            "monitored-operators available lvm",
            "complete-installation",
            "logs?logs_type=controller",
        ];
        let places: Vec<_> = order.iter().map(|text| at(text)).collect();
        assert!(places.is_sorted(), "{requests:?}");
        let finalized = requests.iter().filter(|request| *request == "progress Done").count();
        assert_eq!(finalized, 4, "three nodes and the last stage: {requests:?}");
    }

    #[test]
    fn a_service_that_has_everything_is_told_no_further_stage() {
        let requests = run(&json!([{"name": "console", "operator_type": "builtin"}]), &[], "ingress-cert");
        assert!(!requests.iter().any(|request| request.contains("olm")), "{requests:?}");
        assert_eq!(requests.iter().filter(|request| *request == "complete-installation").count(), 1);
        let requests = run(&both(), &[], "monitored-operators available lvm");
        assert_eq!(requests.iter().filter(|request| *request == "progress Done").count(), 3, "{requests:?}");
    }

    #[test]
    fn an_operator_that_does_not_start_is_given_up_when_its_stage_has_timed_out() {
        let requests = run(&both(), &[FaultKind::OlmOperator], "monitored-operators failed lvm");
        assert!(
            !requests.iter().any(|request| request == "monitored-operators available lvm"),
            "{requests:?}"
        );
        assert_eq!(requests.last().map(String::as_str), Some("logs-progress"));
    }
}
