//! A world in which clusters are installed.

use assisted_core::decide::cluster::{finalizing, kubeconfig, operators};
use assisted_core::decide::host::progress::update;
use assisted_core::decide::install::{self, Generated};
use assisted_core::model::action::{Action, Attempt};
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::decision::Decision;
use assisted_core::model::event::NewEvent;
use assisted_core::model::refusal::Refusal;
use assisted_wire::cluster::{Cluster, ClusterProgressInfo, ClusterStatus, FinalizingStage};
use assisted_wire::host::{HostProgress, HostRole, HostStage};
use assisted_wire::operator::{OperatorMonitorReport, OperatorStatus};
use assisted_wire::step::{StepReply, StepType};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::machine::{API_VIP, INGRESS_VIP, free_addresses, links};
use super::{World, cluster, key};

/// A cluster of several nodes, with members replaced.
pub fn several(overrides: &Value) -> ClusterRecord {
    let mut members = json!({
        "api_vips": [{"ip": API_VIP}], "ingress_vips": [{"ip": INGRESS_VIP}],
        "monitored_operators": [{"name": "console", "operator_type": "builtin", "timeout_seconds": 3600}],
    });
    for (name, value) in overrides.as_object().unwrap() {
        members[name] = value.clone();
    }
    cluster(&members)
}

/// What a user, a host or a worker does to a world; each returns the events.
impl World {
    pub fn cluster(&self) -> &Cluster {
        &self.facts.cluster.as_ref().unwrap().cluster
    }

    pub fn at(&self) -> ClusterStatus {
        self.cluster().status
    }

    pub fn progress(&self) -> ClusterProgressInfo {
        self.cluster().progress.clone().unwrap_or_default()
    }

    /// Writes down what was decided.
    pub fn take(&mut self, decided: Decision) -> Vec<NewEvent> {
        self.write(decided.hosts, decided.cluster);
        self.told.extend(decided.events.clone());
        decided.events
    }

    /// Hosts that are ready to be installed, with a cluster that is, too.
    pub fn ready(record: ClusterRecord, hosts: u16) -> Self {
        Self::ready_but(record, hosts, |_| {})
    }

    /// The same, where something is changed before anything is known of the hosts.
    pub fn ready_but(record: ClusterRecord, hosts: u16, change: impl Fn(&mut Self)) -> Self {
        let mut world = Self::new(Some(record));
        for number in 1..=hosts {
            world.bring(number);
            world.refresh();
        }
        change(&mut world);
        for number in 1..=hosts {
            world.find_others(number, hosts);
        }
        world.refresh();
        let infos: Vec<_> = world.facts.hosts.iter().map(|host| &host.record.host.status_info).collect();
        assert_eq!(world.at(), ClusterStatus::Ready, "{} {infos:?}", world.cluster().validations_info);
        world
    }

    /// A host looks for the others, and for free addresses.
    pub fn find_others(&mut self, number: u16, hosts: u16) {
        let found = links(self.machine, number, 1..=hosts);
        self.reply(number, StepType::ConnectivityCheck, &found).unwrap();
        self.reply(number, StepType::FreeNetworkAddresses, &free_addresses()).unwrap();
    }

    pub fn install(&mut self) -> (Attempt, Vec<NewEvent>) {
        let decided = install::install(&self.facts).unwrap();
        let attempt = decided.actions.iter().find_map(|action| match action {
            Action::Generate { attempt, .. } => Some(*attempt),
            _ => None,
        });
        (attempt.unwrap(), self.take(decided))
    }

    pub fn check_disk(&mut self, number: u16, exit_code: i64) {
        let output = json!({"io_sync_duration": 5, "path": "/dev/disk/by-id/wwn-1"}).to_string();
        let step_type = Some(StepType::InstallationDiskSpeedCheck);
        self.answer(number, &StepReply { step_type, exit_code, output, ..StepReply::default() }).unwrap();
    }

    pub fn check_images(&mut self, number: u16, result: &str) {
        let output = json!({"images": [{"name": "quay.io/release", "result": result}]});
        self.reply(number, StepType::ContainerImageAvailability, &output).unwrap();
    }

    pub fn generate(&mut self, attempt: Attempt, outcome: Result<Generated, String>) -> Vec<NewEvent> {
        let decided = install::generated(&self.facts, attempt, outcome);
        self.take(decided)
    }

    /// Everybody does what is asked for before the installation proper.
    pub fn prepare(&mut self, attempt: Attempt) -> Vec<NewEvent> {
        let mut events = self.generate(attempt, Ok(Generated::default()));
        for number in 1..=self.count() {
            self.check_disk(number, 0);
            self.check_images(number, "success");
        }
        events.extend(self.refresh().events);
        events
    }

    pub fn count(&self) -> u16 {
        u16::try_from(self.facts.hosts.len()).unwrap()
    }

    /// A host tells its stage, with further words.
    pub fn report(&mut self, number: u16, stage: HostStage, info: &str) -> Result<Vec<NewEvent>, Refusal> {
        let told = HostProgress { current_stage: Some(stage), progress_info: info.to_owned() };
        let decision = update(&self.facts, key(number), &told)?.decision;
        Ok(self.take(decision))
    }

    pub fn reach(&mut self, number: u16, stage: HostStage) -> Result<Vec<NewEvent>, Refusal> {
        let mut events = self.report(number, stage, "")?;
        events.extend(self.refresh().events);
        Ok(events)
    }

    /// A host goes through its stages up to one.
    pub fn advance(&mut self, number: u16, last: HostStage) {
        let stages = assisted_core::state::host::stage::of(self.host(number), Some(self.cluster()));
        for stage in stages {
            self.reach(number, stage).unwrap();
            if stage == last {
                return;
            }
        }
    }

    /// As if a host needed no time at all from here to there.
    pub fn until(&mut self, moment: Timestamp) {
        self.facts.now = moment;
        for number in 1..=self.count() {
            self.poll(number);
        }
    }

    pub fn operator(&mut self, name: &str, status: OperatorStatus) -> Vec<NewEvent> {
        let report =
            OperatorMonitorReport { name: name.to_owned(), status: Some(status), ..Default::default() };
        let decided = operators::report(&self.facts, &report).unwrap();
        self.take(decided)
    }

    /// The controller does its part.
    pub fn finalize(&mut self) -> Vec<NewEvent> {
        let mut events = Vec::new();
        for stage in FinalizingStage::ALL {
            let decided = finalizing::report(&self.facts, *stage).unwrap();
            events.extend(self.take(decided));
        }
        let decided = kubeconfig::stored(&self.facts);
        events.extend(self.take(decided));
        let names: Vec<_> =
            self.cluster().monitored_operators.iter().flatten().map(|each| each.name.clone()).collect();
        for name in names {
            events.extend(self.operator(&name, OperatorStatus::Available));
        }
        events
    }

    /// A cluster whose hosts are told to install.
    pub fn installing(record: ClusterRecord, hosts: u16) -> Self {
        let mut world = Self::ready(record, hosts);
        let (attempt, _) = world.install();
        world.prepare(attempt);
        assert_eq!(world.at(), ClusterStatus::Installing);
        world
    }

    pub fn with_role(&self, role: HostRole) -> Vec<u16> {
        (1..=self.count()).filter(|number| self.host(*number).role == Some(role)).collect()
    }
}
