//! A cluster, its hosts and those that wait for it, to which something happens, act by act.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use assisted_core::admission;
use assisted_core::decide::cluster::{controller_logs, day2, finalizing, kubeconfig, operators};
use assisted_core::decide::host::binding::{bind_host, reclaim_host, release_host};
use assisted_core::decide::host::disable::{disable_host, enable_host};
use assisted_core::decide::host::logs;
use assisted_core::decide::host::reset::{reset_host, reset_validation};
use assisted_core::decide::host::update::update_host;
use assisted_core::decide::install::{self, Generated};
use assisted_core::model::action::Attempt;
use assisted_core::model::cluster::PayloadImages;
use assisted_core::model::decision::Decision;
use assisted_core::model::facts::HostFacts;
use assisted_core::state::host::stage;
use assisted_wire::cluster::ClusterStatus::{
    AddingHosts, Finalizing, Insufficient, PendingForInput, PreparingForInstallation, Ready,
};
use assisted_wire::host::HostStatus;
use assisted_wire::operator::{OperatorMonitorReport, OperatorStatus};
use assisted_wire::step::{StepReply, StepType};
use serde_json::{Value, json};

use super::act::{Act, Answer, HostAct};
use super::topology::Topology;
use crate::world::{
    API_VIP, INGRESS_VIP, World, free_addresses, key, links, poor_inventory, resolutions, time_sources,
};

/// How many acts were done in all walks.
pub static DONE: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone)]
pub struct Walk {
    pub topology: &'static Topology,
    /// The cluster with its hosts.
    pub world: World,
    /// Hosts that wait, each by itself.
    pub pool: BTreeMap<u16, World>,
    pub attempt: Option<Attempt>,
    /// Hosts that say no more.
    pub silent: BTreeSet<u16>,
}

impl fmt::Debug for Walk {
    // A whole world would bury what failed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.topology.fmt(f)
    }
}

impl Walk {
    /// Does it, as far as the machines allow; nothing is looked at yet.
    pub fn perform(&mut self, act: &Act) {
        DONE.fetch_add(usize::from(!matches!(act, Act::Host(..))), Ordering::Relaxed);
        let facts = &self.world.facts;
        let decided = match act {
            Act::Install => install::install(facts).ok(),
            Act::ReadPayload => Some(install::payload_read(facts, PayloadImages::default())),
            Act::Generate(good) => self.attempt.map(|attempt| {
                let outcome = if *good { Ok(Generated::default()) } else { Err("why".to_owned()) };
                install::generated(facts, attempt, outcome)
            }),
            Act::Cancel => install::cancel(facts).ok(),
            Act::Reset => install::reset(facts).ok(),
            Act::Finalizing(stage) => finalizing::report(facts, *stage).ok(),
            Act::Operator(status) => {
                let (name, status) = ("console".to_owned(), Some(*status));
                operators::report(facts, &OperatorMonitorReport { name, status, ..Default::default() }).ok()
            }
            Act::Kubeconfig => (self.world.at() == Finalizing).then(|| kubeconfig::stored(facts)),
            Act::Logs(state) => Some(controller_logs::progress(facts, *state)),
            Act::UploadLogs => Some(controller_logs::uploaded(facts)),
            Act::Transform => day2::transform(facts).ok(),
            Act::Heal => return self.heal(),
            Act::Prepare => return self.prepare(),
            Act::Settle => return self.refresh_to_fixpoint(),
            Act::Change(params) => return self.change(params),
            Act::Wait(seconds) => return self.wait(*seconds),
            Act::Host(number, act) => return self.host(*number, act),
        };
        if let Some(decided) = decided {
            if matches!(act, Act::Install) {
                self.attempt =
                    decided.cluster.as_ref().map(|record| record.cluster.install_started_at.0.into());
            }
            self.world.take(decided);
        }
    }

    /// Looks at everything.
    pub fn glance(&mut self) {
        let world = std::iter::once(&mut self.world);
        world.chain(self.pool.values_mut()).for_each(|part| drop(part.glance()));
    }

    /// Looks at everything, and holds that a second look finds nothing to do.
    pub fn refresh(&mut self) {
        let world = std::iter::once(&mut self.world);
        world.chain(self.pool.values_mut()).for_each(|part| drop(part.refresh()));
    }

    /// Every part of the world.
    pub fn parts(&self) -> impl Iterator<Item = &World> {
        std::iter::once(&self.world).chain(self.pool.values())
    }

    /// Every host.
    pub fn hosts(&self) -> impl Iterator<Item = &HostFacts> {
        self.parts().flat_map(|part| &part.facts.hosts)
    }

    fn part(&mut self, number: u16) -> Option<&mut World> {
        if self.world.find(number).is_some() { Some(&mut self.world) } else { self.pool.get_mut(&number) }
    }

    fn numbers(&self) -> impl Iterator<Item = u16> + use<> {
        1..=self.topology.hosts
    }

    fn wait(&mut self, seconds: i64) {
        self.world.wait(seconds);
        self.pool.values_mut().for_each(|part| part.wait(seconds));
        for number in self.numbers().filter(|number| !self.silent.contains(number)).collect::<Vec<_>>() {
            if let Some(part) = self.part(number) {
                part.poll(number);
            }
        }
    }

    fn prepare(&mut self) {
        let Some(attempt) = self.attempt.filter(|_| self.world.at() == PreparingForInstallation) else {
            return;
        };
        let decided = install::generated(&self.world.facts, attempt, Ok(Generated::default()));
        self.world.take(decided);
        for number in self.numbers().filter(|number| self.world.find(*number).is_some()).collect::<Vec<_>>() {
            for step in [StepType::InstallationDiskSpeedCheck, StepType::ContainerImageAvailability] {
                let _ = self.world.reply(number, step, &self.answer(number, step, Answer::Good));
            }
        }
    }

    fn refresh_to_fixpoint(&mut self) {
        if self.world.at() != Finalizing {
            return;
        }
        let decided = kubeconfig::stored(&self.world.facts);
        self.world.take(decided);
        let operators = self.world.cluster().monitored_operators.iter().flatten();
        for name in operators.map(|each| each.name.clone()).collect::<Vec<_>>() {
            if self.world.at() == Finalizing {
                self.world.operator(&name, OperatorStatus::Available);
            }
        }
    }

    fn change(&mut self, params: &str) {
        let params = serde_json::from_str(params).unwrap();
        if let Ok(updated) = admission::cluster::update(&self.world.facts, &[], &params) {
            self.world.write(None, updated.changed.then_some(updated.record));
            self.world.told.extend(updated.events);
        }
    }

    /// Who is not ready to be installed boots anew, and is helped by its user.
    pub fn heal(&mut self) {
        if !matches!(self.world.at(), PendingForInput | Insufficient | Ready | AddingHosts) {
            return;
        }
        let changed = json!({"name": "c", "base_dns_domain": "example.com"});
        self.change(&changed.to_string());
        if self.world.cluster().api_vips.as_ref().is_some_and(Vec::is_empty) {
            let vips = json!({"api_vips": [{"ip": API_VIP}], "ingress_vips": [{"ip": INGRESS_VIP}]});
            self.change(&vips.to_string());
        }
        for number in self.numbers() {
            self.host(number, &HostAct::Enable);
            let known = |walk: &mut Self| {
                let part = walk.part(number);
                part.is_some_and(|part| part.status(number) == HostStatus::Known)
            };
            if !known(self) {
                self.boot(number);
            }
            let own = format!(r#"{{"host_name": "node-{number}", "host_role": "auto-assign"}}"#);
            self.update(number, &own);
        }
        self.glance();
        for number in self.numbers().filter(|number| self.world.find(*number).is_some()).collect::<Vec<_>>() {
            (self.topology.help)(&mut self.world, number);
            for step in [StepType::ConnectivityCheck, StepType::FreeNetworkAddresses, StepType::VerifyVips] {
                self.host(number, &HostAct::Tell(step, Answer::Good));
            }
        }
        self.glance();
    }

    /// A host boots, is bound if it must be, and its user takes back what keeps it from being installed.
    fn boot(&mut self, number: u16) {
        self.silent.remove(&number);
        self.host(number, &HostAct::Bring);
        if self.pool.contains_key(&number) {
            self.glance();
            self.host(number, &HostAct::Bind);
            self.host(number, &HostAct::Bring);
        }
        if self.world.find(number).is_none() {
            return;
        }
        self.glance();
        for check in ["sufficient-installation-disk-speed", "container-images-available"] {
            self.host(number, &HostAct::Repeat(check));
        }
    }

    fn update(&mut self, number: u16, params: &str) {
        let params = serde_json::from_str(params).unwrap();
        let outcome = self.part(number).map(|part| update_host(&part.facts, key(number), &params));
        self.record(number, outcome.and_then(Result::ok));
    }

    /// Writes down what became of a host.
    fn record(&mut self, number: u16, outcome: Option<Decision>) {
        if let (Some(outcome), Some(part)) = (outcome, self.part(number)) {
            part.write(outcome.hosts, None);
            part.told.extend(outcome.events);
        }
    }

    fn host(&mut self, number: u16, act: &HostAct) {
        if number > self.topology.hosts {
            return;
        }
        let Some(part) = self.part(number) else {
            if matches!(act, HostAct::Register | HostAct::Bring) {
                self.appear(number, act);
            }
            return;
        };
        DONE.fetch_add(1, Ordering::Relaxed);
        let now = part.facts.now;
        let facts = part.find(number).unwrap();
        let outcome = match act {
            HostAct::Register => {
                self.register(number);
                None
            }
            HostAct::Bring => {
                self.bring(number);
                None
            }
            HostAct::Poll => {
                part.poll(number);
                None
            }
            HostAct::Tell(step, answer) => {
                let output = self.answer(number, *step, *answer);
                let part = self.part(number).unwrap();
                let _ = part.reply(number, *step, &output);
                None
            }
            HostAct::Fail(step, exit_code) => {
                let output = self.answer(number, *step, Answer::Bad).to_string();
                let reply = StepReply {
                    step_type: Some(*step),
                    exit_code: *exit_code,
                    output,
                    error: "it failed".to_owned(),
                    ..StepReply::default()
                };
                let _ = self.part(number).unwrap().answer(number, &reply);
                None
            }
            HostAct::Next => {
                let cluster = part.facts.cluster.as_ref().map(|record| &record.cluster);
                let stages = stage::of(&facts.record.host, cluster);
                let now = facts.record.host.progress.as_ref().and_then(|progress| progress.current_stage);
                let next = stages.iter().position(|stage| Some(*stage) == now).map_or(0, |place| place + 1);
                if let Some(stage) = stages.get(next) {
                    let _ = part.report(number, *stage, "");
                }
                None
            }
            HostAct::Reach(stage) => {
                let _ = part.report(number, *stage, "");
                None
            }
            HostAct::Word(info) => {
                let stage = facts.record.host.progress.as_ref().and_then(|progress| progress.current_stage);
                if let Some(stage) = stage {
                    let _ = part.report(number, stage, info);
                }
                None
            }
            HostAct::GoSilent => {
                self.silent.insert(number);
                None
            }
            HostAct::Update(params) => {
                self.update(number, params);
                None
            }
            HostAct::Install => {
                if let Ok(decided) = install::install_host(&part.facts, key(number)) {
                    part.take(decided);
                }
                None
            }
            HostAct::Disable => disable_host(facts, now).ok(),
            HostAct::Enable => enable_host(facts, now).ok(),
            HostAct::Reset => reset_host(facts, now).ok(),
            HostAct::Repeat(id) => reset_validation(facts, id, now).ok(),
            HostAct::Logs(state) => Some(logs::progress(facts, *state, now)),
            HostAct::UploadLogs => Some(logs::uploaded(facts, now)),
            HostAct::Bind => {
                self.bind(number);
                None
            }
            HostAct::Release => {
                let left = release_host(facts, now).ok();
                self.leave(number, left);
                None
            }
            HostAct::Reclaim => {
                let left = reclaim_host(facts, now).ok();
                self.leave(number, left);
                None
            }
            HostAct::Remove => {
                if matches!(self.world.at(), PendingForInput | Insufficient | Ready | AddingHosts) {
                    self.remove(number);
                }
                None
            }
        };
        self.record(number, outcome);
    }

    /// A host is heard of for the first time.
    fn appear(&mut self, number: u16, act: &HostAct) {
        if self.topology.late {
            let mut alone = World::new(None);
            alone.machine = self.world.machine;
            alone.facts.now = self.world.facts.now;
            alone.facts.policy = self.world.facts.policy.clone();
            self.pool.insert(number, alone);
        }
        match act {
            HostAct::Bring => self.bring(number),
            _ => drop(self.register(number)),
        }
        self.pool.retain(|_, part| !part.facts.hosts.is_empty());
    }

    fn register(&mut self, number: u16) -> bool {
        self.silent.remove(&number);
        let part = self.pool.get_mut(&number).unwrap_or(&mut self.world);
        part.register(number).is_ok()
    }

    fn bring(&mut self, number: u16) {
        if !self.register(number) {
            return;
        }
        for step in [StepType::Inventory, StepType::NtpSynchronizer, StepType::DomainResolution] {
            self.host(number, &HostAct::Tell(step, Answer::Good));
        }
        self.host(number, &HostAct::Poll);
    }

    fn bind(&mut self, number: u16) {
        let Some(part) = self.pool.get_mut(&number) else { return };
        let World { facts, infra_env, .. } = part;
        let record = self.world.facts.cluster.as_ref().unwrap();
        if let Ok(outcome) = bind_host(&facts.hosts[0], infra_env, record, &facts.policy, facts.now) {
            part.write(outcome.hosts, None);
            let host = part.facts.hosts.remove(0);
            let told = std::mem::take(&mut part.told);
            self.pool.remove(&number);
            self.world.facts.hosts.push(host);
            self.world.told.extend(told.into_iter().chain(outcome.events));
        }
    }

    fn leave(&mut self, number: u16, left: Option<Decision>) {
        if self.world.find(number).is_none() || left.is_none() {
            return;
        }
        self.record(number, left);
        let place = self.world.position(number);
        let host = self.world.facts.hosts.remove(place);
        let mut alone = World::new(None);
        alone.machine = self.world.machine;
        alone.facts.now = self.world.facts.now;
        alone.facts.policy = self.world.facts.policy.clone();
        alone.facts.hosts.push(host);
        self.pool.insert(number, alone);
    }

    pub fn remove(&mut self, number: u16) {
        self.pool.remove(&number);
        self.world.facts.hosts.retain(|host| host.key() != key(number));
    }

    fn answer(&self, number: u16, step: StepType, answer: Answer) -> Value {
        let number = match answer {
            Answer::Nonsense => return json!("nonsense"),
            Answer::Anothers => number % self.topology.hosts + 1,
            Answer::Good | Answer::Bad => number,
        };
        let good = !matches!(answer, Answer::Bad);
        let choose = |right: Value, wrong: Value| if good { right } else { wrong };
        match step {
            StepType::Inventory => choose((self.world.machine)(number), poor_inventory(number)),
            StepType::NtpSynchronizer => choose(time_sources(), json!({"ntp_sources": []})),
            StepType::DomainResolution => choose(resolutions(), json!({"resolutions": []})),
            StepType::ConnectivityCheck => choose(
                links(self.world.machine, number, 1..=self.topology.hosts),
                json!({"remote_hosts": []}),
            ),
            StepType::FreeNetworkAddresses => {
                choose(free_addresses(), json!([{"network": "192.168.124.0/22", "free_addresses": []}]))
            }
            StepType::VerifyVips => {
                let found = if good { "succeeded" } else { "failed" };
                json!([{"vip": API_VIP, "vip_type": "api", "verification": found}])
            }
            StepType::DhcpLeaseAllocate => choose(
                json!({"api_vip_address": API_VIP, "ingress_vip_address": INGRESS_VIP}),
                json!({"api_vip_address": "10.0.0.1", "ingress_vip_address": INGRESS_VIP}),
            ),
            StepType::InstallationDiskSpeedCheck => {
                let millis = if good { 5 } else { 500 };
                json!({"io_sync_duration": millis, "path": "/dev/disk/by-id/wwn-1"})
            }
            StepType::ContainerImageAvailability => {
                let result = if good { "success" } else { "failure" };
                json!({"images": [{"name": "quay.io/release", "result": result}]})
            }
            StepType::TangConnectivityCheck | StepType::ApiVipConnectivityCheck => {
                json!({"is_success": good})
            }
            StepType::UpgradeAgent => {
                json!({"agent_image": "quay.io/agent", "result": if good { "success" } else { "failure" }})
            }
            _ => json!({}),
        }
    }
}
