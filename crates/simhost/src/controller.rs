//! The controller in a cluster that forms: tells which nodes have come, and finishes the installation.

use std::collections::VecDeque;
use std::time::Duration;

use assisted_wire::cluster::{ClusterStatus, FinalizingStage};
use assisted_wire::cluster_params::{ClusterFinalizingProgress, CompletionParams, IngressCertParams};
use assisted_wire::id::ClusterId;
use assisted_wire::operation::BASE_PATH;
use assisted_wire::operator::{
    MonitoredOperator, MonitoredOperatorsList, OperatorMonitorReport, OperatorStatus, OperatorType,
};
use hyper::Method;
use serde::Deserialize;

use crate::host::SimHost;
use crate::installer::progress;
use crate::kube::Kube;
use crate::logs;
use crate::outbox::{Answer, Call, Outbox, Process};

/// Between two looks.
const LOOK: Duration = Duration::from_secs(30);
/// How long cluster operators take until they are available.
const OPERATORS: Duration = Duration::from_secs(5 * 60);
/// The certificate authority of the cluster's router; its key is nowhere.
const INGRESS_CA: &str = include_str!("ingress-ca.pem");

/// What happens after the nodes have come, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// The cluster does not run yet, or the controller in it.
    Absent,
    Nodes,
    Operators,
    /// Looks whether the service agrees.
    Completed,
    Gone,
}

/// What a request that is under way was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Nothing,
    Cluster,
    Operators,
}

/// A controller.
#[derive(Debug)]
pub struct Controller {
    index: u32,
    phase: Phase,
    asked: Asked,
    /// What is sent next, one after the other.
    queue: VecDeque<Call>,
    under_way: bool,
    /// When the operators began to start.
    operators_since: Option<Duration>,
}

/// What a controller sees.
pub struct Around<'a> {
    pub cluster_id: ClusterId,
    pub kube: &'a mut Kube,
    /// The host at a place.
    pub peer: &'a dyn Fn(u32) -> SimHost,
}

impl Controller {
    /// The controller of the cluster number `index`, before there is a cluster.
    pub fn new(index: u32) -> Self {
        Self {
            index,
            phase: Phase::Absent,
            asked: Asked::Nothing,
            queue: VecDeque::new(),
            under_way: false,
            operators_since: None,
        }
    }

    fn process(&self) -> Process {
        Process::Controller(self.index)
    }

    /// Looks for the first time in a while: its cluster is being installed.
    pub fn start(&self, out: &mut Outbox) {
        out.wake_after(LOOK, self.process());
    }

    /// Its time has come.
    pub fn woken(&mut self, around: &mut Around<'_>, out: &mut Outbox) {
        if self.phase == Phase::Gone || self.under_way {
            return;
        }
        if self.phase == Phase::Absent {
            if !around.kube.has_controller(out.now) {
                out.wake_after(LOOK, self.process());
                return;
            }
            self.phase = Phase::Nodes;
        }
        while let Some((place, stage)) = around.kube.seen_by_controller(out.now) {
            self.queue.push_back(progress(self.process(), &(around.peer)(place), stage, ""));
        }
        self.go_on(around, out);
    }

    /// Sends what is next; looks at the cluster when there is nothing else.
    fn go_on(&mut self, around: &Around<'_>, out: &mut Outbox) {
        let cluster = format!("{BASE_PATH}/v2/clusters/{}", around.cluster_id);
        let (asked, call) = match self.queue.pop_front() {
            Some(call) => (Asked::Nothing, call),
            None if self.phase == Phase::Operators => {
                (Asked::Operators, Call::get(self.process(), format!("{cluster}/monitored-operators")))
            }
            None => (Asked::Cluster, Call::get(self.process(), format!("{cluster}?exclude-hosts=true"))),
        };
        self.asked = asked;
        self.under_way = true;
        out.send(call);
    }

    /// The service has answered.
    pub fn answered(&mut self, answer: &Answer, around: &mut Around<'_>, out: &mut Outbox) {
        self.under_way = false;
        match self.asked {
            Asked::Nothing if !self.queue.is_empty() => return self.go_on(around, out),
            Asked::Nothing => {
                if self.phase == Phase::Gone {
                    return;
                }
            }
            Asked::Cluster => {
                self.look(answer, around, out);
                if !self.queue.is_empty() {
                    return self.go_on(around, out);
                }
            }
            Asked::Operators => {
                self.operators(answer, around, out);
                if !self.queue.is_empty() {
                    return self.go_on(around, out);
                }
            }
        }
        if self.phase != Phase::Gone {
            out.wake_after(LOOK, self.process());
        }
    }

    fn look(&mut self, answer: &Answer, around: &mut Around<'_>, out: &Outbox) {
        #[derive(Deserialize)]
        struct Seen {
            status: ClusterStatus,
        }
        if answer.status == 404 {
            self.phase = Phase::Gone;
            return;
        }
        let Ok(Seen { status }) = serde_json::from_slice(&answer.body) else { return };
        // The event that it is ready comes after the first answer of the service.
        around.kube.announced = true;
        match status {
            ClusterStatus::Installed | ClusterStatus::Error | ClusterStatus::Cancelled => {
                self.queue.extend(logs::of_controller(around.cluster_id, self.process()));
                self.phase = Phase::Gone;
            }
            ClusterStatus::Finalizing if self.phase == Phase::Nodes => {
                self.tell_stage(around, FinalizingStage::WaitingForClusterOperators);
                self.phase = Phase::Operators;
                self.operators_since = Some(out.now);
            }
            _ => {}
        }
    }

    /// Cluster operators first, then the router's certificates, then the operators of OLM.
    fn operators(&mut self, answer: &Answer, around: &Around<'_>, out: &Outbox) {
        let Ok(MonitoredOperatorsList(operators)) = serde_json::from_slice(&answer.body) else { return };
        let started = self.operators_since.is_some_and(|since| since + OPERATORS <= out.now);
        let of = |kind| operators.iter().filter(move |operator| operator.operator_type == Some(kind));
        let status = if started { OperatorStatus::Available } else { OperatorStatus::Progressing };
        for operator in of(OperatorType::Builtin).filter(|operator| operator.status != Some(status)) {
            self.tell_operator(around, operator, status);
        }
        if !started {
            return;
        }
        self.tell_stage(around, FinalizingStage::AddingRouterCa);
        let cert = IngressCertParams(INGRESS_CA.to_owned());
        self.post(around, "uploads/ingress-cert", &cert);
        self.tell_stage(around, FinalizingStage::WaitingForOlmOperatorsCsvInitialization);
        if of(OperatorType::Olm).next().is_some() {
            self.tell_stage(around, FinalizingStage::ApplyingOlmManifests);
            self.tell_stage(around, FinalizingStage::WaitingForOlmOperatorsCsv);
            for status in [OperatorStatus::Progressing, OperatorStatus::Available] {
                for operator in of(OperatorType::Olm) {
                    self.tell_operator(around, operator, status);
                }
            }
        }
        self.tell_stage(around, FinalizingStage::Done);
        let completion = CompletionParams { is_success: true, ..CompletionParams::default() };
        self.post(around, "actions/complete-installation", &completion);
        self.phase = Phase::Completed;
    }

    fn tell_stage(&mut self, around: &Around<'_>, stage: FinalizingStage) {
        let path = format!("{BASE_PATH}/v2/clusters/{}/progress", around.cluster_id);
        let body = ClusterFinalizingProgress { finalizing_stage: Some(stage) };
        self.queue.push_back(Call::json(self.process(), Method::PUT, path, &body));
    }

    fn tell_operator(&mut self, around: &Around<'_>, operator: &MonitoredOperator, status: OperatorStatus) {
        let path = format!("{BASE_PATH}/v2/clusters/{}/monitored-operators", around.cluster_id);
        let status_info = match status {
            OperatorStatus::Available => "All is well",
            OperatorStatus::Progressing => "Working towards the desired state",
            OperatorStatus::Failed => "Failed",
        };
        let body = OperatorMonitorReport {
            name: operator.name.clone(),
            version: operator.version.clone(),
            status: Some(status),
            status_info: status_info.to_owned(),
        };
        self.queue.push_back(Call::json(self.process(), Method::PUT, path, &body));
    }

    fn post<T: serde::Serialize>(&mut self, around: &Around<'_>, what: &str, body: &T) {
        let path = format!("{BASE_PATH}/v2/clusters/{}/{what}", around.cluster_id);
        self.queue.push_back(Call::json(self.process(), Method::POST, path, body));
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostRole;
    use assisted_wire::id::InfraEnvId;
    use serde_json::{Value, json};

    use super::*;
    use crate::outbox::Deed;
    use crate::random::Random;

    /// Runs a controller against a service that goes to `finalizing` when all nodes are done, and to `installed` when it
    /// has everything.
    fn run(operators: &Value) -> Vec<String> {
        let mut kube = Kube::new(3);
        kube.bootstrap_started(Duration::ZERO);
        for place in 0..3 {
            kube.booted(
                place,
                HostRole::Master,
                Duration::from_secs(60),
                None,
                &mut Random::new(place.into()),
            );
        }
        let peer = |place| SimHost::new(InfraEnvId::default(), place);
        let mut controller = Controller::new(0);
        let mut requests = Vec::new();
        let (mut now, mut answer, mut done, mut status) = (Duration::ZERO, None::<Answer>, 0, "installing");
        for _ in 0..1000 {
            let mut out = Outbox::new(now, 0);
            let mut around = Around { cluster_id: ClusterId::default(), kube: &mut kube, peer: &peer };
            match answer.take() {
                Some(answer) => controller.answered(&answer, &mut around, &mut out),
                None => controller.woken(&mut around, &mut out),
            }
            let deeds = out.take();
            if deeds.is_empty() {
                return requests;
            }
            for (delay, deed) in deeds {
                let Deed::Send(call) = deed else {
                    now += delay;
                    continue;
                };
                let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
                let path = call.path.trim_start_matches(BASE_PATH).to_owned();
                done += usize::from(body["current_stage"] == "Done");
                if done == 3 && status == "installing" {
                    status = "finalizing";
                }
                if path.ends_with("complete-installation") {
                    status = "installed";
                }
                let answered = match path.contains("monitored-operators") && call.method == Method::GET {
                    true => operators.clone(),
                    false => json!({ "status": status }),
                };
                answer = Some(Answer { status: 200, body: answered.to_string().into() });
                if call.method != Method::GET {
                    let what = path.rsplit('/').next().unwrap();
                    let detail = [&body["finalizing_stage"], &body["current_stage"], &body["status"]];
                    let detail = detail.into_iter().find_map(Value::as_str).unwrap_or_default();
                    requests.push(
                        format!("{what} {detail} {}", body["name"].as_str().unwrap_or_default())
                            .trim()
                            .to_owned(),
                    );
                }
            }
        }
        panic!("it does not end: {requests:?}");
    }

    #[test]
    fn nodes_operators_certificate_completion_logs() {
        let requests = run(
            &json!([{"name": "console", "operator_type": "builtin"}, {"name": "lvm", "operator_type": "olm"}]),
        );
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
    fn a_cluster_without_olm_skips_its_stages() {
        let requests = run(&json!([{"name": "console", "operator_type": "builtin"}]));
        assert!(!requests.iter().any(|request| request.contains("Applying olm")), "{requests:?}");
    }
}
