//! The service's part of an installation as far as simulated hosts notice it, without time and network: who calls what in
//! which order can be judged for hundreds of hosts at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use assisted_simhost::action::{ActionSink, Call, Effect, Response};
use assisted_simhost::simulation::Simulation;
use assisted_wire::host::HostStage;
use serde_json::{Value, json};
use uuid::Uuid;

use HostStage::{
    Configuring, CopyingRegistryDataToDisk, Done, Failed, Installing, Joined, Rebooting,
    StartingInstallation, WaitingForBootkube, WaitingForControlPlane, WaitingForController,
    WaitingForIgnition, WritingImageToDisk,
};

/// The stages of each role (state-machines §4.4).
const BOOTSTRAP: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    WaitingForControlPlane,
    WaitingForBootkube,
    WaitingForController,
    Rebooting,
    Configuring,
    Joined,
    Done,
];
const MASTER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    Rebooting,
    Configuring,
    Joined,
    Done,
];
const WORKER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    WaitingForControlPlane,
    Rebooting,
    WaitingForIgnition,
    Configuring,
    Joined,
    Done,
];
const SINGLE_NODE: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WaitingForBootkube,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    Rebooting,
    Joined,
    Done,
];

struct Host {
    cluster: usize,
    role: &'static str,
    stages: &'static [HostStage],
    has_inventory: bool,
    stage: Option<HostStage>,
    failed: bool,
}

#[derive(Default)]
struct Cluster {
    status: &'static str,
    /// In the order of registration; the first control-plane node is the bootstrap.
    hosts: Vec<Uuid>,
    single: bool,
    completed: bool,
    certificate: bool,
    operators: usize,
}

/// A service in memory.
#[derive(Default)]
pub(crate) struct Model {
    clusters: Vec<Cluster>,
    hosts: BTreeMap<Uuid, Host>,
    /// Everything that was asked, and when.
    pub(crate) log: Vec<(Duration, String)>,
    /// What was refused.
    pub(crate) refused: Vec<String>,
}

impl Model {
    /// Runs a simulation to its end, or for six simulated hours.
    pub(crate) fn run(&mut self, simulation: &mut Simulation) -> Duration {
        let mut heap = BinaryHeap::new();
        let mut effects = BTreeMap::new();
        let mut number = 0_u64;
        let mut now = Duration::ZERO;
        let mut out = ActionSink::new(now, 0);
        simulation.start(&mut out);
        loop {
            for (delay, effect) in out.take() {
                heap.push(Reverse((now + delay, number)));
                effects.insert(number, effect);
                number += 1;
            }
            let Some(Reverse((at, next))) = heap.pop() else { return now };
            if simulation.is_over() || at > Duration::from_secs(6 * 3600) {
                return now;
            }
            now = at;
            out = ActionSink::new(now, 0);
            match effects.remove(&next).unwrap() {
                Effect::Wake(process) => simulation.woken(process, &mut out),
                Effect::Send(call) => {
                    let (status, body) = self.answer(&call);
                    let line = format!("{} {}", call.method, call.path);
                    if status >= 400 {
                        self.refused.push(format!("{status} {line} {}", String::from_utf8_lossy(&call.body)));
                    }
                    self.log.push((now, line));
                    let answer = Response { status, body: body.to_string().into(), repeated: false };
                    simulation.answered(call.from, &answer, &mut out);
                }
            }
        }
    }

    fn answer(&mut self, call: &Call) -> (u16, Value) {
        let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let path = call.path.trim_start_matches("/api/assisted-install/v2/").split('?').next().unwrap();
        let parts: Vec<_> = path.split('/').collect();
        let id = |place: usize| parts[place].parse::<Uuid>().unwrap();
        let cluster = |place: usize| id(place).as_u128() as usize;
        match (call.method.as_str(), parts.as_slice()) {
            ("POST", ["clusters"]) => {
                let single = body["high_availability_mode"] == "None";
                self.clusters.push(Cluster { status: "pending-for-input", single, ..Cluster::default() });
                (201, json!({"id": Uuid::from_u128(self.clusters.len() as u128 - 1)}))
            }
            ("POST", ["infra-envs"]) => (201, json!({"id": body["cluster_id"]})),
            ("POST", ["infra-envs", _, "hosts"]) => {
                self.register(cluster(1), body["host_id"].as_str().unwrap().parse().unwrap());
                (201, json!({}))
            }
            ("PATCH", ["infra-envs", _, "hosts", _]) => {
                if let Some(role) = body["host_role"].as_str() {
                    let host = self.hosts.get_mut(&id(3)).unwrap();
                    host.role = match role {
                        "worker" => "worker",
                        "arbiter" => "arbiter",
                        _ => "master",
                    };
                }
                (200, json!({}))
            }
            ("PATCH", ["clusters", _]) => {
                self.clusters[cluster(1)].status = "ready";
                (201, json!({}))
            }
            ("POST", ["clusters", _, "actions", "install"]) => {
                self.install(cluster(1));
                (202, json!({}))
            }
            ("GET", ["clusters", _]) => (200, self.cluster(cluster(1))),
            ("GET", ["clusters", _, "hosts"]) => {
                let hosts = self.clusters[cluster(1)].hosts.iter().map(|id| &self.hosts[id]);
                let masters = hosts.filter(|host| matches!(host.role, "master" | "bootstrap"));
                (200, masters.map(|host| json!({"progress": {"current_stage": host.stage}})).collect())
            }
            ("GET", ["infra-envs", _, "hosts", _, "instructions"]) => (200, self.steps(id(3))),
            ("POST", ["infra-envs", _, "hosts", _, "instructions"]) => {
                if body["step_type"] == "inventory" {
                    self.hosts.get_mut(&id(3)).unwrap().has_inventory = true;
                }
                (204, Value::Null)
            }
            ("PUT", ["infra-envs", _, "hosts", _, "progress"]) => self.progress(id(3), &body),
            ("GET", ["clusters", _, "monitored-operators"]) => {
                let status = match self.clusters[cluster(1)].operators {
                    0 => Value::Null,
                    1 => json!("progressing"),
                    _ => json!("available"),
                };
                (200, json!([{"name": "console", "operator_type": "builtin", "status": status}]))
            }
            ("PUT", ["clusters", _, "monitored-operators"]) => {
                self.clusters[cluster(1)].operators += 1;
                (200, Value::Null)
            }
            ("POST", ["clusters", _, "uploads", "ingress-cert"]) => {
                self.clusters[cluster(1)].certificate = true;
                (201, Value::Null)
            }
            ("POST", ["clusters", _, "actions", "complete-installation"]) => {
                self.clusters[cluster(1)].completed = true;
                (202, json!({}))
            }
            ("GET", ["clusters", _, "downloads", "files"])
            | ("GET", ["infra-env", _, "hosts", _, "downloads", "ignition"])
            | ("PUT", ["clusters", _, "progress"]) => (200, json!({})),
            ("PUT", [.., "logs-progress"]) | ("POST", ["clusters", _, "logs"]) => (204, Value::Null),
            _ => (405, json!({"reason": "no such operation"})),
        }
    }

    fn register(&mut self, cluster: usize, id: Uuid) {
        if self.hosts.contains_key(&id) {
            return;
        }
        self.clusters[cluster].hosts.push(id);
        let host = Host {
            cluster,
            role: "master",
            stages: MASTER,
            has_inventory: false,
            stage: None,
            failed: false,
        };
        self.hosts.insert(id, host);
    }

    fn install(&mut self, cluster: usize) {
        let Cluster { status, hosts, single, .. } = &mut self.clusters[cluster];
        *status = "installing";
        let mut bootstrap = true;
        for id in hosts.iter() {
            let host = self.hosts.get_mut(id).unwrap();
            if host.role == "master" && bootstrap {
                bootstrap = false;
                host.role = "bootstrap";
            }
            host.stages = match host.role {
                "bootstrap" if *single => SINGLE_NODE,
                "bootstrap" => BOOTSTRAP,
                "worker" => WORKER,
                _ => MASTER,
            };
        }
    }

    fn steps(&self, id: Uuid) -> Value {
        let host = &self.hosts[&id];
        let cluster = &self.clusters[host.cluster];
        let step = if cluster.status == "installing" && host.stage.is_none() {
            let masters =
                cluster.hosts.iter().filter(|id| matches!(self.hosts[id].role, "master" | "bootstrap"));
            let argument = json!({
                "cluster_id": Uuid::from_u128(host.cluster as u128), "infra_env_id": Uuid::from_u128(host.cluster as u128),
                "host_id": id, "role": host.role, "boot_device": "/dev/sda",
                "controller_image": "quay.io/a/controller:1", "installer_image": "quay.io/a/installer:1",
                "control_plane_count": masters.count(),
            });
            json!({"step_type": "install", "step_id": "install-1", "args": [argument.to_string()]})
        } else {
            json!({"step_type": "inventory", "step_id": "inventory-1", "args": [id]})
        };
        json!({"next_instruction_seconds": 60, "instructions": [step]})
    }

    fn progress(&mut self, id: Uuid, told: &Value) -> (u16, Value) {
        let host = self.hosts.get_mut(&id).unwrap();
        let stage: HostStage = serde_json::from_value(told["current_stage"].clone()).unwrap();
        if stage == Failed {
            host.failed = true;
            return (200, Value::Null);
        }
        let order = |stage| host.stages.iter().position(|known| *known == stage);
        if order(stage).is_none() || host.stage.is_some_and(|before| order(before) > order(stage)) {
            return (409, json!({"reason": format!("{stage} after {:?}", host.stage)}));
        }
        host.stage = Some(stage);
        (200, Value::Null)
    }

    fn cluster(&mut self, index: usize) -> Value {
        let cluster = &mut self.clusters[index];
        let hosts: Vec<_> = cluster.hosts.iter().map(|id| (id, &self.hosts[id])).collect();
        if cluster.status == "installing" && hosts.iter().all(|(_, host)| host.stage == Some(Done)) {
            cluster.status = "finalizing";
        }
        if cluster.status == "finalizing" && cluster.completed && cluster.certificate && cluster.operators > 1
        {
            cluster.status = "installed";
        }
        if hosts.iter().any(|(_, host)| host.failed) {
            cluster.status = "error";
        }
        let hosts = hosts.iter().map(|(id, host)| {
            let status = match (host.has_inventory, host.stage) {
                (false, _) => "discovering",
                (_, None) => "known",
                (_, Some(Done)) => "installed",
                (_, Some(_)) => "installing-in-progress",
            };
            json!({"id": id, "status": status, "progress": {"current_stage": host.stage}})
        });
        json!({"status": cluster.status, "kind": "Cluster", "hosts": hosts.collect::<Vec<_>>()})
    }
}
