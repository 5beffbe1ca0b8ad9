//! What a rule of the cluster's machine changes besides state and text.

use std::fmt;

use assisted_wire::cluster::{Cluster, InstallationPreparationStatus as Preparation, LogsState};
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use super::{completion, logs, preparation, progress, single_node, timeouts};
use crate::model::action::SubscriptionUpdate;
use crate::model::cluster::ClusterRecord;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::model::topology;
use crate::policy::Policy;

/// What a rule changes besides state and text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An installation begins.
    Begin,
    /// The preparation failed because it took too long.
    FailPreparation,
    /// The preparation succeeded.
    FinishPreparation,
    /// The DNS records of this attempt are asked for.
    AskForDnsRecords,
    /// The address of a single node becomes the VIPs.
    SetNodeVips,
    /// The finalizing stage has all its time again.
    RestartStage,
    /// An event says that the finalizing stage takes too long.
    TellStageTimeout,
    /// An event says that the installation failed.
    TellFailure,
    /// The account service is to be told the address of the console.
    AskForConsoleUrl,
    /// The account service is to be told that the cluster is installed.
    AskForActivation,
    /// The installation is complete.
    Complete,
    /// The logs are given up.
    GiveUpLogs,
    /// An event says that the installation was cancelled.
    TellCancelled,
    /// What the installation left is forgotten.
    Forget,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begin => "an attempt begins; logs and the last preparation are forgotten",
            Self::FailPreparation => "the preparation failed",
            Self::FinishPreparation => "the preparation succeeded",
            Self::AskForDnsRecords => "the DNS records are asked for",
            Self::SetNodeVips => "a single node's address becomes the VIPs",
            Self::RestartStage => "the stage begins anew",
            Self::TellStageTimeout => "told once per stage",
            Self::TellFailure => "the failure is told",
            Self::AskForConsoleUrl => "the account service is told of the console",
            Self::AskForActivation => "the subscription is activated",
            Self::Complete => "complete",
            Self::GiveUpLogs => "logs given up",
            Self::TellCancelled => "the end is told",
            Self::Forget => "what the installation left is forgotten",
        })
    }
}

/// The cluster that effects change, with its events.
pub(crate) struct Change<'a> {
    pub(crate) record: &'a mut ClusterRecord,
    pub(crate) hosts: &'a [HostFacts],
    pub(crate) policy: &'a Policy,
    pub(crate) now: Timestamp,
    pub(crate) events: &'a mut Vec<NewEvent>,
}

impl Change<'_> {
    /// Works an effect; state and text are the new ones already.
    pub(crate) fn apply(&mut self, effect: Effect) {
        let now: DateTime = self.now.into();
        let cluster = &mut self.record.cluster;
        match effect {
            Effect::Begin => {
                // As exact as it is stored, so that the attempt is known again.
                let started_at = Timestamp::from_millisecond(self.now.as_millisecond()).unwrap_or(self.now);
                cluster.install_started_at = started_at.into();
                logs::forget(cluster);
                preparation::restart(cluster);
            }
            Effect::FailPreparation => {
                preparation::set(cluster, Preparation::Failed, preparation::TIMED_OUT);
                let reason: &dyn fmt::Display = &preparation::TIMED_OUT;
                let spec = catalogue::INSTALLATION_PREPARING_TIMED_OUT;
                self.events.push(spec.of_cluster(cluster.id, &[("reason", reason)]));
            }
            Effect::FinishPreparation => {
                preparation::set(cluster, Preparation::Success, preparation::SUCCEEDED);
                progress::prepared(cluster);
            }
            Effect::AskForDnsRecords => {
                self.record.dns_asked_for = Some(cluster.install_started_at.0.into());
            }
            Effect::AskForConsoleUrl => self.ask(SubscriptionUpdate::ConsoleUrl),
            Effect::AskForActivation => self.ask(SubscriptionUpdate::Active),
            Effect::SetNodeVips => {
                if topology::is_single_node(cluster) {
                    single_node::set_vips(self.record, self.hosts);
                }
            }
            Effect::RestartStage => restart_stage(cluster, now),
            Effect::TellStageTimeout => self.emit_stage_timeout(),
            Effect::TellFailure => {
                let reason: &dyn fmt::Display = &cluster.status_info;
                let spec = catalogue::CLUSTER_INSTALLATION_FAILED;
                self.events.push(spec.of_cluster(cluster.id, &[("failure_reason", reason)]));
            }
            Effect::Complete => {
                progress::completed(cluster);
                self.events.extend(completion::degraded(cluster));
                self.events.push(catalogue::CLUSTER_INSTALLATION_COMPLETED.of_cluster(cluster.id, &[]));
            }
            Effect::GiveUpLogs => cluster.logs_info = Some(LogsState::Timeout),
            Effect::TellCancelled => {
                self.events.push(catalogue::CLUSTER_INSTALLATION_CANCELED.of_cluster(cluster.id, &[]));
            }
            Effect::Forget => {
                forget(self.record);
                let spec = catalogue::CLUSTER_INSTALLATION_RESET;
                self.events.push(spec.of_cluster(self.record.cluster.id, &[]));
            }
        }
    }

    fn ask(&mut self, update: SubscriptionUpdate) {
        self.record.subscription.ask(update, self.record.cluster.install_started_at.0.into());
    }

    fn emit_stage_timeout(&mut self) {
        let Some(stage) = progress::stage(&self.record.cluster) else { return };
        let minutes = timeouts::minutes(timeouts::of_stage(stage, self.record, self.policy));
        let cluster = &mut self.record.cluster;
        cluster.progress.get_or_insert_default().finalizing_stage_timed_out = true;
        let values: &[(&str, &dyn fmt::Display)] = &[("stage", &stage), ("minutes", &minutes)];
        self.events.push(catalogue::FINALIZING_STAGE_TIMED_OUT.of_cluster(cluster.id, values));
    }
}

/// Gives the finalizing stage all its time again.
pub(crate) fn restart_stage(cluster: &mut Cluster, now: DateTime) {
    let progress = cluster.progress.get_or_insert_default();
    progress.finalizing_stage_started_at = now;
    progress.finalizing_stage_timed_out = false;
}

/// Forgets what an installation left. Networks and the hosts' roles stay.
fn forget(record: &mut ClusterRecord) {
    record.generated_for = None;
    record.generated_folder = None;
    record.kubeconfig_stored = false;
    record.dns_asked_for = None;
    record.dns_made_for = None;
    record.subscription.forget();
    let cluster = &mut record.cluster;
    progress::forget(cluster);
    logs::forget(cluster);
    preparation::restart(cluster);
    cluster.openshift_cluster_id = None;
    if topology::is_single_node(cluster) {
        cluster.api_vips = Some(Vec::new());
        cluster.ingress_vips = Some(Vec::new());
    }
}
