//! All machines, clusters and users of a simulation. It does no I/O: whoever drives it brings wake-ups and answers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::{ClusterId, InfraEnvId};
use serde::Serialize;

use crate::action::{ActionSink, Process, Response};
use crate::controller::{self, Controller};
use crate::fault::{Fault, FaultKind, FaultTarget};
use crate::host::SimHost;
use crate::kube::Kube;
use crate::machine::{ClusterContext, Machine};
use crate::plan::Plan;
use crate::random::Random;
use crate::user::{self, ClusterView, Transition, User};
use crate::world::Site;

/// The agent's version before a service asks for another.
const AGENT: &str = "sim";
/// Kinds of refusals that are told apart.
const REFUSALS: usize = 50;

/// One cluster and those who live in it.
struct Cluster {
    site: Site,
    user: User,
    controller: Controller,
    kube: Kube,
    fault_kinds: Vec<FaultKind>,
    /// Index of the host that was struck for its role.
    target: Option<u32>,
}

/// A simulation.
pub struct Simulation {
    plan: Plan,
    clusters: Vec<Cluster>,
    /// All clusters' machines, those of one cluster side by side.
    machines: Vec<Machine>,
    agent: Arc<str>,
    running: u32,
    refusals: BTreeMap<String, u64>,
}

/// What became of a cluster.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterResult {
    pub id: Option<ClusterId>,
    pub name: String,
    #[serde(flatten)]
    pub look: ClusterView,
    pub expected: ClusterStatus,
    pub as_expected: bool,
    /// What was done wrong on purpose, and by which hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Why it ended, if not by the service's doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    pub simulated_seconds: u64,
}

impl Simulation {
    /// The machines of a plan, all of them off.
    pub fn new(plan: Plan) -> Self {
        let needs = plan.shape.needs();
        let sites = (0..plan.clusters).filter_map(|index| Site::new(index, needs?));
        let clusters: Vec<_> = sites
            .zip(0..)
            .map(|(site, index)| Cluster {
                site,
                user: User::new(index),
                controller: Controller::new(index),
                kube: Kube::new(plan.shape.hosts).with_infra_envs(&plan.infra_envs),
                fault_kinds: plan.strikes(index).map(|fault| fault.kind).collect(),
                target: None,
            })
            .collect();
        let machines = clusters
            .iter()
            .zip(0..)
            .flat_map(|(cluster, number)| {
                let plan = &plan;
                let strikes: Vec<Fault> = plan.strikes(number).collect();
                (0..plan.all_hosts()).map(move |place| {
                    let index = plan.first_host(number) + place;
                    let fault = strikes.iter().copied().find(|fault| plan.may_strike(number, *fault, place));
                    let build = plan.shape.build(place);
                    let host = SimHost::at(InfraEnvId::default(), index, cluster.site.host(place), build);
                    let host = SimHost { platform: plan.shape.platform, ..host };
                    Machine::new(host, fault, Random::of(plan.seed, index))
                })
            })
            .collect();
        let running = plan.clusters;
        Self { plan, clusters, machines, agent: AGENT.into(), running, refusals: BTreeMap::new() }
    }

    /// What is simulated.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Begins.
    pub fn start(&mut self, out: &mut ActionSink) {
        for index in 0..self.plan.clusters {
            let transition = self.with_user(index, out, User::start);
            self.act_on(index, transition, out);
        }
    }

    /// Whether all clusters have ended.
    pub fn is_over(&self) -> bool {
        self.running == 0
    }

    /// Clusters that have not ended.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// A process's time has come.
    pub fn woken(&mut self, process: Process, out: &mut ActionSink) {
        match process {
            Process::User(index) => {
                if let Some(cluster) = self.clusters.get_mut(index as usize) {
                    cluster.user.woken(out);
                }
            }
            Process::Controller(index) => {
                self.with_controller(index, out, Controller::woken);
            }
            Process::Agent(host) => self.with_machine(host, out, Machine::woken),
            Process::Installer(host) => {
                self.with_machine(host, out, |machine, context, out| machine.install(None, context, out));
            }
            Process::Step(..) => {}
        }
    }

    /// The service has answered a process.
    pub fn answered(&mut self, process: Process, answer: &Response, out: &mut ActionSink) {
        if !answer.is_success() {
            self.record(process, answer);
        }
        match process {
            Process::User(index) => {
                let transition =
                    self.with_user(index, out, |user, context, out| user.answered(answer, context, out));
                self.act_on(index, transition, out);
            }
            Process::Controller(index) => {
                self.with_controller(index, out, |controller, context, out| {
                    controller.answered(answer, context, out);
                });
            }
            Process::Agent(host) => {
                self.with_machine(host, out, |machine, context, out| machine.answered(answer, context, out));
            }
            Process::Step(host, kind) => {
                self.with_machine(host, out, |machine, context, out| {
                    machine.reply_answered(kind, answer, context, out);
                });
            }
            Process::Installer(host) => {
                self.with_machine(host, out, |machine, context, out| {
                    machine.install(Some(answer), context, out);
                });
            }
        }
    }

    fn record(&mut self, process: Process, answer: &Response) {
        let who = match process {
            Process::User(_) => "user".to_owned(),
            Process::Agent(_) => "agent".to_owned(),
            Process::Step(_, kind) => format!("step {kind}"),
            Process::Installer(_) => "installer".to_owned(),
            Process::Controller(_) => "controller".to_owned(),
        };
        let said = format!("{who}: {}", user::reason(answer));
        if self.refusals.len() < REFUSALS || self.refusals.contains_key(&said) {
            *self.refusals.entry(said).or_default() += 1;
        }
    }

    fn act_on(&mut self, index: u32, transition: Transition, out: &mut ActionSink) {
        let (day1, all) = (self.plan.shape.hosts, self.plan.all_hosts());
        match transition {
            Transition::None => {}
            Transition::InfraEnv(id) => {
                self.switch_on(index, 0..day1, id, out);
                // An existing cluster may be installed by someone else.
                if self.plan.existing.is_some() {
                    self.start_controller(index, out);
                }
            }
            Transition::Installing(roles) => {
                let first = self.plan.first_host(index) as usize;
                for machine in self.machines.iter_mut().skip(first).take(all as usize) {
                    if let Some((_, role)) = roles.iter().find(|(id, _)| *id == machine.host.id) {
                        machine.gets(*role);
                    }
                }
                if self.plan.existing.is_none() {
                    self.start_controller(index, out);
                }
            }
            Transition::Reset(id) => {
                if let Some(cluster) = self.clusters.get_mut(index as usize) {
                    cluster.kube = Kube::new(day1).with_infra_envs(&self.plan.infra_envs);
                }
                self.switch_on(index, 0..day1, id, out);
            }
            Transition::Open(id) => self.switch_on(index, day1..all, id, out),
        }
    }

    fn switch_on(&mut self, index: u32, places: Range<u32>, infra_env: InfraEnvId, out: &mut ActionSink) {
        let first = self.plan.first_host(index);
        let machines = self.machines.iter_mut().skip((first + places.start) as usize);
        for (machine, place) in machines.zip(places) {
            let own = self.plan.infra_envs.get(place as usize);
            machine.switch_on(own.copied().unwrap_or(infra_env), out);
        }
    }

    fn start_controller(&mut self, index: u32, out: &mut ActionSink) {
        let Some(cluster) = self.clusters.get_mut(index as usize) else { return };
        if self.plan.other_controller {
            cluster.kube.announced = true;
        } else {
            cluster.controller.start(out);
        }
    }

    fn with_user(
        &mut self,
        index: u32,
        out: &mut ActionSink,
        act: impl FnOnce(&mut User, &user::Context<'_>, &mut ActionSink) -> Transition,
    ) -> Transition {
        let Some(cluster) = self.clusters.get_mut(index as usize) else { return Transition::None };
        let before = cluster.user.has_ended();
        let context = user::Context { plan: &self.plan, site: cluster.site };
        let transition = act(&mut cluster.user, &context, out);
        if !before && cluster.user.has_ended() {
            self.running -= 1;
        }
        transition
    }

    fn with_controller(
        &mut self,
        index: u32,
        out: &mut ActionSink,
        act: impl FnOnce(&mut Controller, &mut controller::Context<'_>, &mut ActionSink),
    ) {
        let Some(cluster) = self.clusters.get_mut(index as usize) else { return };
        let Some((cluster_id, infra_env_id)) = cluster.user.cluster_id.zip(cluster.user.infra_env_id) else {
            return;
        };
        let mut context = controller::Context {
            cluster_id,
            infra_env_id,
            first: self.plan.first_host(index),
            kube: &mut cluster.kube,
            fault_kinds: &cluster.fault_kinds,
        };
        act(&mut cluster.controller, &mut context, out);
    }

    fn with_machine(
        &mut self,
        host: u32,
        out: &mut ActionSink,
        act: impl FnOnce(&mut Machine, &mut ClusterContext<'_>, &mut ActionSink),
    ) {
        let index = host / self.plan.all_hosts();
        let Some(cluster) = self.clusters.get_mut(index as usize) else { return };
        let Some(machine) = self.machines.get_mut(host as usize) else { return };
        let mut calls_user = false;
        let mut context = ClusterContext {
            plan: &self.plan,
            site: cluster.site,
            first: self.plan.first_host(index),
            kube: &mut cluster.kube,
            agent: &mut self.agent,
            calls_user: &mut calls_user,
            target: &mut cluster.target,
        };
        act(machine, &mut context, out);
        if calls_user {
            cluster.user.called(out);
        }
    }

    /// The clusters as they were seen last.
    pub fn views(&self) -> impl Iterator<Item = (String, &ClusterView)> {
        self.clusters
            .iter()
            .zip(0..)
            .map(|(cluster, index)| (self.plan.cluster_name(index), &cluster.user.look))
    }

    /// What the service refused, and how often.
    pub fn refusals(&self) -> &BTreeMap<String, u64> {
        &self.refusals
    }

    /// What became of the clusters until now.
    pub fn results(&self, now: Duration) -> Vec<ClusterResult> {
        let clusters = self.clusters.iter().zip(0..);
        clusters
            .map(|(cluster, index)| {
                let user = &cluster.user;
                let expected = self.plan.outcome(index);
                let as_expected =
                    user.has_ended() && user.trouble.is_none() && user.look.status == Some(expected);
                ClusterResult {
                    id: user.cluster_id,
                    name: self.plan.cluster_name(index),
                    look: user.look.clone(),
                    expected,
                    as_expected,
                    fault: self.struck(index),
                    trouble: match user.has_ended() {
                        true => user.trouble.clone(),
                        false => Some("the simulation ended before it did".to_owned()),
                    },
                    simulated_seconds: user.ended_at.unwrap_or(now).as_secs(),
                }
            })
            .collect()
    }

    /// The place of the host that a cluster's fault has struck for its role.
    pub fn target(&self, cluster: u32) -> Option<u32> {
        Some(self.clusters.get(cluster as usize)?.target? - self.plan.first_host(cluster))
    }

    /// What struck a cluster, and where.
    fn struck(&self, cluster: u32) -> Option<String> {
        let first = self.plan.first_host(cluster);
        let told = self.plan.strikes(cluster).map(|fault| {
            let place = match fault.target {
                FaultTarget::Role(_) => self.target(cluster),
                FaultTarget::Drawn | FaultTarget::NetworkAddress(_) => {
                    (0..self.plan.all_hosts()).find(|place| self.plan.may_strike(cluster, fault, *place))
                }
            };
            place.map_or_else(|| fault.to_string(), |place| format!("{fault} on sim-{}", first + place))
        });
        let told = told.collect::<Vec<_>>().join(", ");
        Some(told).filter(|told| !told.is_empty())
    }
}
