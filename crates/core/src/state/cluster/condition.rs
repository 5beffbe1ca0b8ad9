//! What the rules of the cluster's machine ask: named groups of validations, and predicates (state-machines §3.7).
//!
//! A predicate about time gives the last moment at which it does not hold: from that follows both whether it holds now,
//! and when to look again.

use std::fmt;

use assisted_wire::cluster::ClusterValidationId::{self, *};
use assisted_wire::cluster::InstallationPreparationStatus;
use assisted_wire::host::HostStatus as H;
use assisted_wire::operator::{MonitoredOperator, OperatorStatus};
use jiff::Timestamp;

use super::quorum::has_quorum;
use super::{logs, progress, single_node, timeouts};
use crate::catalogue::operators::{CONSOLE, OPERATORS};
use crate::model::action::SubscriptionUpdate;
use crate::model::cluster::ClusterRecord;
use crate::model::facts::HostFacts;
use crate::model::{layering, topology};
use crate::policy::Policy;
use crate::validation::Results;

/// A question about a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The VIPs come from a DHCP server.
    VipDhcp,
    /// Networks, domain and pull secret are given.
    InputComplete,
    /// Both VIPs are given.
    VipsDefined,
    /// Every validation that an installation depends on passes.
    Installable,
    /// The preparation takes too long.
    PreparationTimedOut,
    /// A host could not be prepared.
    HostNotPrepared,
    /// Every host is prepared.
    HostsPrepared,
    /// A host is in no state that belongs to a preparation.
    HostLeftPreparation,
    /// Everything is generated that hosts are installed with.
    Generated,
    /// It could not be generated.
    GenerationFailed,
    /// The service manages no DNS records of the cluster, or has made them.
    DnsRecordsMade,
    /// The DNS records of this attempt were asked for.
    DnsRecordsAsked,
    /// The address of the only node is known, or there are several nodes.
    NodeAddressKnown,
    /// Enough hosts are installed, or may still be.
    StillInstalling,
    /// Enough hosts are installed.
    EnoughInstalled,
    /// A host waits for a person.
    HostPending,
    /// Every host is installed, or failed.
    HostsDone,
    /// The cluster's operators have settled, and its final kubeconfig is there.
    Settled,
    /// Passed time limits only warn.
    SoftTimeouts,
    /// The installation takes too long.
    InstallationTimedOut,
    /// The end of the installation takes too long.
    FinalizingTimedOut,
    /// The finalizing stage takes too long.
    StageTimedOut,
    /// The cluster is of use without what the finalizing stage waits for.
    StageTolerant,
    /// An event has said already that the finalizing stage takes too long.
    StageTimeoutTold,
    /// The console is there, and the account service is yet to be told where.
    ConsoleUrlOwed,
    /// The account service is yet to be told that the cluster is installed.
    ActivationOwed,
    /// The account service keeps no subscription of the cluster, or knows that it is installed.
    SubscriptionActive,
    /// The image of a pool's nodes could not be built, or is not what they boot.
    ImageFailed,
    /// A node boots another image than that of its pool.
    OtherImageBooted,
    /// The logs do not come.
    LogsTimedOut,
}

/// The cluster that conditions are evaluated for.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) record: &'a ClusterRecord,
    pub(crate) hosts: &'a [HostFacts],
    pub(crate) policy: &'a Policy,
    pub(crate) now: Timestamp,
    pub(crate) results: &'a Results<ClusterValidationId>,
}

impl View<'_> {
    fn any(&self, states: &[H]) -> bool {
        self.hosts.iter().any(|host| states.contains(&host.record.host.status))
    }

    fn all(&self, states: &[H]) -> bool {
        self.hosts.iter().all(|host| states.contains(&host.record.host.status))
    }

    fn has_quorum(&self, states: &[H]) -> bool {
        has_quorum(&self.record.cluster, self.hosts, states)
    }

    fn preparation(&self) -> Option<InstallationPreparationStatus> {
        self.record.cluster.last_installation_preparation.as_ref().and_then(|last| last.status)
    }

    /// Whether everything was generated for this very attempt. That also holds when a host that registered anew made
    /// the preparation start over: what was generated stays good.
    fn is_generated(&self) -> bool {
        let attempt = self.record.cluster.install_started_at.0.into();
        self.record.generated_for == Some(attempt)
            && self.preparation() != Some(InstallationPreparationStatus::Failed)
    }

    fn has_dns_records(&self) -> bool {
        let attempt = self.record.cluster.install_started_at.0.into();
        let managed = &self.policy.clusters.managed_domains;
        !managed.contains(&self.record.cluster.base_dns_domain) || self.record.dns_made_for == Some(attempt)
    }

    fn has_subscription(&self) -> bool {
        self.policy.service.subscriptions && self.record.cluster.ams_subscription_id.is_some()
    }

    /// Whether the account service is to be told something that it neither knows nor is about to be told.
    fn owes(&self, update: SubscriptionUpdate) -> bool {
        let kept = &self.record.subscription;
        let attempt = self.record.cluster.install_started_at.0.into();
        self.has_subscription() && !kept.is_told(update) && kept.asked_for(update) != Some(attempt)
    }

    /// Where no operator is followed, none is missing (state-machines §3.16).
    fn has_console(&self) -> bool {
        let operators = self.record.cluster.monitored_operators.as_deref().unwrap_or_default();
        let is_console = |each: &&MonitoredOperator| each.name == CONSOLE;
        let console = operators.iter().find(is_console);
        operators.is_empty() || console.is_some_and(|each| each.status == Some(OperatorStatus::Available))
    }

    fn is_settled(&self) -> bool {
        let mut operators = self.record.cluster.monitored_operators.iter().flatten();
        self.record.kubeconfig_stored && operators.all(progress::is_done)
    }
}

impl Condition {
    /// The validations that must pass for the condition to hold; none for a predicate.
    pub fn members(self) -> impl Iterator<Item = ClusterValidationId> {
        let own: &[_] = match self {
            Self::InputComplete => {
                &[MachineCidrDefined, ClusterCidrDefined, ServiceCidrDefined, DnsDomainDefined, PullSecretSet]
            }
            Self::VipsDefined => &[IngressVipsDefined, ApiVipsDefined],
            Self::Installable => INSTALLABLE,
            _ => &[],
        };
        let operators = if self == Self::Installable { OPERATORS } else { &[] };
        own.iter().copied().chain(operators.iter().map(|operator| operator.cluster))
    }

    /// The last moment at which a condition about time does not hold; `None`: it never will, or is not about time.
    pub(crate) fn deadline(self, view: &View<'_>) -> Option<Timestamp> {
        let (cluster, limits) = (&view.record.cluster, &view.policy.timeouts);
        match self {
            Self::PreparationTimedOut => {
                Some(timeouts::end(cluster.status_updated_at, timeouts::preparation(view.policy)))
            }
            Self::InstallationTimedOut => {
                Some(timeouts::end(cluster.install_started_at, limits.installation))
            }
            Self::FinalizingTimedOut => Some(timeouts::end(cluster.status_updated_at, limits.finalizing)),
            Self::StageTimedOut => {
                let progress = cluster.progress.as_ref()?;
                let limit = timeouts::of_stage(progress.finalizing_stage?, view.record, view.policy);
                Some(timeouts::end(progress.finalizing_stage_started_at, limit))
            }
            Self::LogsTimedOut => logs::deadline(cluster, limits),
            _ => None,
        }
    }

    /// Answers the question.
    pub(crate) fn holds(self, view: &View<'_>) -> bool {
        match self {
            Self::VipDhcp => topology::is_vip_dhcp(&view.record.cluster),
            Self::InputComplete | Self::VipsDefined | Self::Installable => {
                let asked = |id| view.results.condition(id) || view.results.is_left_out(id);
                self.members().all(asked)
            }
            Self::HostNotPrepared => view.any(&[H::PreparingFailed]),
            Self::HostsPrepared => view.all(&[H::PreparingSuccessful]),
            Self::HostLeftPreparation => !view.all(PREPARATION),
            Self::Generated => view.is_generated(),
            Self::GenerationFailed => view.preparation() == Some(InstallationPreparationStatus::Failed),
            Self::DnsRecordsMade => view.has_dns_records(),
            Self::DnsRecordsAsked => {
                view.record.dns_asked_for == Some(view.record.cluster.install_started_at.0.into())
            }
            Self::NodeAddressKnown => {
                !topology::is_single_node(&view.record.cluster)
                    || single_node::address(view.record, view.hosts).is_some()
            }
            Self::StillInstalling => view.has_quorum(STILL_INSTALLING),
            Self::EnoughInstalled => view.has_quorum(&[H::Installed]),
            Self::HostPending => view.any(&[H::InstallingPendingUserAction]),
            Self::HostsDone => view.all(&[H::Installed, H::Error]),
            Self::Settled => view.is_settled(),
            Self::SoftTimeouts => timeouts::are_soft(&view.record.cluster, view.policy),
            Self::StageTolerant => progress::stage(&view.record.cluster).is_some_and(timeouts::is_tolerant),
            Self::StageTimeoutTold => {
                let progress = view.record.cluster.progress.as_ref();
                progress.is_some_and(|progress| progress.finalizing_stage_timed_out)
            }
            Self::ConsoleUrlOwed => view.owes(SubscriptionUpdate::ConsoleUrl) && view.has_console(),
            Self::ActivationOwed => view.owes(SubscriptionUpdate::Active),
            Self::SubscriptionActive => !view.has_subscription() || view.record.subscription.is_active,
            Self::ImageFailed => layering::failure(&view.record.layering.builds).is_some(),
            Self::OtherImageBooted => layering::is_other_booted(&view.record.layering.builds),
            Self::PreparationTimedOut
            | Self::InstallationTimedOut
            | Self::FinalizingTimedOut
            | Self::StageTimedOut
            | Self::LogsTimedOut => self.deadline(view).is_some_and(|deadline| view.now > deadline),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::VipDhcp => "VIPs from DHCP",
            Self::InputComplete => "input complete",
            Self::VipsDefined => "VIPs defined",
            Self::Installable => "installable",
            Self::PreparationTimedOut => "preparation timed out",
            Self::HostNotPrepared => "a host failed to prepare",
            Self::HostsPrepared => "all hosts prepared",
            Self::HostLeftPreparation => "a host left the preparation",
            Self::Generated => "generated",
            Self::GenerationFailed => "generation failed",
            Self::DnsRecordsMade => "DNS records in place",
            Self::DnsRecordsAsked => "DNS records asked for",
            Self::NodeAddressKnown => "address of a single node known",
            Self::StillInstalling => "enough hosts installing",
            Self::EnoughInstalled => "enough hosts installed",
            Self::HostPending => "a host waits for a person",
            Self::HostsDone => "all hosts installed or failed",
            Self::Settled => "operators settled",
            Self::SoftTimeouts => "soft time limits",
            Self::InstallationTimedOut => "installation timed out",
            Self::FinalizingTimedOut => "finalizing timed out",
            Self::StageTimedOut => "stage timed out",
            Self::StageTolerant => "stage tolerant",
            Self::StageTimeoutTold => "stage's time limit told",
            Self::ConsoleUrlOwed => "address of the console to be told",
            Self::ActivationOwed => "activation to be asked for",
            Self::SubscriptionActive => "subscription active or none kept",
            Self::ImageFailed => "an image of nodes failed",
            Self::OtherImageBooted => "a node boots another image",
            Self::LogsTimedOut => "logs timed out",
        })
    }
}

/// States of hosts that belong to a preparation.
const PREPARATION: &[H] =
    &[H::PreparingForInstallation, H::PreparingSuccessful, H::PreparingFailed, H::Known];

/// States of hosts out of which the installation can succeed.
const STILL_INSTALLING: &[H] = &[
    H::Installing,
    H::InstallingInProgress,
    H::Installed,
    H::InstallingPendingUserAction,
    H::PreparingSuccessful,
];

/// What an installation depends on, besides what each operator asks (state-machines §3.7).
const INSTALLABLE: &[ClusterValidationId] = &[
    MachineCidrEqualsToCalculatedCidr,
    ApiVipsValid,
    IngressVipsValid,
    AllHostsAreReadyToInstall,
    SufficientMastersCount,
    NetworkPrefixValid,
    NoCidrsOverlapping,
    NtpServerConfigured,
    NetworkTypeValid,
    CustomManifestsRequirementsSatisfied,
    NetworksSameAddressFamilies,
    OclConfigurationValid,
    OclMachineOsConfigsPresent,
    OclSecretsPresent,
    OclVersionSupported,
    OclArchitectureUniform,
    OclMachineConfigsCompatible,
    OclRegistryReachableByNodes,
];
