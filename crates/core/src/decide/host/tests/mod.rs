//! Hosts through an installation: each with its cluster in a state, looked at as time goes by.

mod installation;
mod leaving;
mod preparation;
mod progress;
mod replies;
mod steps;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::{Host, HostProgressInfo, HostRole, HostStage, HostStatus};
use assisted_wire::inventory::{DriveType, Inventory};
use assisted_wire::step::{StepReply, StepType};
use jiff::{SignedDuration, Timestamp};

use super::reply;
use crate::model::event::NewEvent;
use crate::model::facts::{Facts, HostFacts};
use crate::policy::Policy;
use crate::state::host::cluster_context::ClusterContext;
use crate::state::host::{next_deadline, refresh};
use crate::validation::Scope;
use crate::validation::host::evaluate_in;
use crate::validation::testing::{self, disk, inventory, now};

/// The disk that hosts are installed on.
const DISK: &str = "/dev/disk/by-id/sda";

/// A worker of a cluster of three control plane nodes, in a state since now, with a disk to install on.
pub(in crate::decide::host) fn host_in(status: HostStatus, cluster: ClusterStatus) -> Facts {
    let machine = inventory()
        .address("10.0.0.5/24")
        .disks(vec![disk("sda", DriveType::Ssd, 120), disk("sdb", DriveType::Ssd, 120)]);
    let facts = testing::facts(1).with_inventory(&machine).with_machine_networks(&["10.0.0.0/24"]);
    facts.with_cluster(|own| own.status = cluster).with_host(|host| {
        let fields = &mut host.record.host;
        fields.status = status;
        fields.status_updated_at = now().into();
        fields.role = Some(HostRole::Worker);
        DISK.clone_into(&mut fields.installation_disk_id);
        "/dev/sda".clone_into(&mut fields.installation_disk_path);
        fields.progress = Some(HostProgressInfo::default());
        fields.discovery_agent_version = Policy::default().images.agent;
    })
}

/// The same while it is installed, in a stage since now.
fn in_stage(stage: HostStage, cluster: ClusterStatus) -> Facts {
    host_in(HostStatus::InstallingInProgress, cluster).with_host(|host| {
        let progress = host.record.host.progress.get_or_insert_default();
        progress.current_stage = Some(stage);
        progress.stage_started_at = now().into();
        progress.stage_updated_at = now().into();
    })
}

impl Facts {
    fn first(&self) -> &Host {
        &self.hosts[0].record.host
    }

    fn status_and_info(&self) -> (HostStatus, &str) {
        (self.first().status, &self.first().status_info)
    }

    fn with_settings(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        let mut policy = (*self.policy).clone();
        change(&mut policy);
        self.policy = policy.into();
        self
    }

    /// Time limits only warn.
    fn soft(self) -> Self {
        self.with_settings(|policy| policy.hosts.enable_soft_timeouts = true)
            .with_cluster(|cluster| cluster.org_soft_timeouts_enabled = true)
    }

    fn with_machine(self, change: impl FnOnce(&mut Inventory)) -> Self {
        self.with_host(|host| {
            let mut machine = (**host.inventory.as_ref().unwrap()).clone();
            change(&mut machine);
            host.inventory = Some(machine.into());
        })
    }

    fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// The agent is heard now.
    fn check_in(&mut self) {
        self.hosts[0].checked_in_at = self.now;
    }

    /// Looks at the first host once, and holds that it comes to rest after a few more looks.
    fn refresh(&mut self) -> Vec<NewEvent> {
        let mut events = Vec::new();
        self.glance(&mut events);
        let mut later = self.clone();
        let mut looks = (0..4).map(|_| later.glance(&mut Vec::new()));
        assert!(looks.any(|changed| !changed), "never comes to rest: {:?}", self.status_and_info());
        events.retain(|event| !event.name.starts_with("host_validation_"));
        events
    }

    fn glance(&mut self, events: &mut Vec<NewEvent>) -> bool {
        let results = evaluate_in(&Scope::new(self), &self.hosts[0]).unwrap();
        let context = ClusterContext::of(self);
        refresh::record_results(&mut self.hosts[0], &results, events);
        refresh::refresh(&mut self.hosts[0], &results, &context, events)
    }

    fn next_check(&self) -> Option<Timestamp> {
        next_deadline::next_check(&self.hosts[0], &ClusterContext::of(self))
    }

    /// Holds that nothing changes up to a limit but at the first moment after it, for which a look was asked; then
    /// looks.
    fn changes_after(&mut self, seconds: i64) -> Vec<NewEvent> {
        let limit = now() + SignedDuration::from_secs(seconds);
        self.refresh();
        let next = limit + SignedDuration::from_millis(1);
        assert_eq!(self.next_check(), Some(next));
        let before = self.first().clone();
        self.now = limit;
        self.refresh();
        assert_eq!(*self.first(), before);
        self.now = next;
        let events = self.refresh();
        assert_ne!(*self.first(), before);
        events
    }

    /// The first host answers a step; what changes is taken over.
    fn answer(&mut self, step: StepType, exit_code: i64, output: &str, error: &str) -> Vec<NewEvent> {
        let answer = StepReply {
            step_type: Some(step),
            exit_code,
            output: output.to_owned(),
            error: error.to_owned(),
            ..StepReply::default()
        };
        let decision = reply::reply(self, self.hosts[0].key(), &answer).unwrap().decision;
        for change in decision.hosts {
            let host: &mut HostFacts = &mut self.hosts[0];
            change.record.into_iter().for_each(|record| host.record = record.into());
            for (kind, text) in change.reports {
                host.put_report(kind, text.into());
            }
        }
        self.cluster = decision.cluster.or(self.cluster.take());
        decision.events
    }
}

fn names(events: &[NewEvent]) -> Vec<&str> {
    events.iter().map(|event| event.name).collect()
}
