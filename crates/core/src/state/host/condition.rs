//! What the rules of the host's machine ask: validations by their id, named groups of them, and predicates.

use std::fmt;
use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostValidationId::{self, *};
use assisted_wire::host::{HostRole, HostStage};

use super::limits;
use super::rule_context::RuleContext;
use crate::catalogue::operators::OPERATORS;
use crate::model::deadline;
use crate::policy::Policy;

/// A question about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The validation passes, or does not apply, or is disabled or ignored.
    Passes(HostValidationId),
    /// Every validation of the group passes.
    All(Group),
    /// The host joins an installed cluster.
    Day2,
    /// The host's role was decided upon.
    HasRole,
    /// The host came back from the discovery image although it should have booted its disk.
    BootedWrongDevice,
    /// The installer said that the host is in a stage.
    Stage(HostStage),
    /// The stage takes longer than its limit.
    StageOverdue,
    /// An event said that the stage takes too long.
    StageOverdueReported,
    /// The host waits only because a person must help another one.
    StageHeldBack,
    /// An event said that the host is silent.
    SilenceReported,
    /// Time limits only warn.
    SoftTimeouts,
    /// The host's cluster is in a state.
    Cluster(ClusterStatus),
    /// The cluster would succeed without the hosts that wait for a person.
    Dispensable,
    /// The installation disk was measured, or need not be.
    DiskTested,
    /// Images were pulled, and none of them failed.
    ImagesPulled,
    /// The host was in its state for longer than a limit.
    Overdue(Limit),
    /// Logs of the failed host were awaited for too long.
    LogsOverdue,
}

/// How long a host may be in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Preparation,
    Start,
    UserAction,
    Reclaim,
}

impl Limit {
    /// The limit as it is set.
    pub fn of(self, policy: &Policy) -> Duration {
        match self {
            Self::Preparation => limits::preparation(policy),
            Self::Start => limits::START,
            Self::UserAction => policy.timeouts.host_installing_pending_user_action,
            Self::Reclaim => limits::RECLAIM,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Preparation => "to prepare",
            Self::Start => "to start",
            Self::UserAction => "for a person to help",
            Self::Reclaim => "to be reclaimed",
        }
    }
}

/// A named group of validations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    ValidInventory,
    MinimalHardware,
    InputDefined,
    Sufficient,
    Bindable,
}

impl Group {
    /// The validations of the group.
    pub fn members(self) -> impl Iterator<Item = HostValidationId> {
        let own: &[_] = match self {
            Self::ValidInventory => &[HasInventory, InventoryNotFullyTruncated],
            Self::MinimalHardware => &[
                HasMinValidDisks,
                HasMinCpuCores,
                HasMinMemory,
                CompatibleWithClusterPlatform,
                DiskEncryptionRequirementsSatisfied,
            ],
            Self::InputDefined => &[MachineCidrDefined],
            Self::Sufficient => SUFFICIENT,
            Self::Bindable => &[HasMinValidDisks, HasMinCpuCores, HasMinMemory, HostnameValid],
        };
        let operators = if self == Self::Sufficient { OPERATORS } else { &[] };
        own.iter().copied().chain(operators.iter().map(|operator| operator.host))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::ValidInventory => "valid inventory",
            Self::MinimalHardware => "minimal hardware",
            Self::InputDefined => "input defined",
            Self::Sufficient => "sufficient",
            Self::Bindable => "bindable",
        }
    }
}

/// What a host needs besides minimal hardware, input, and what each operator asks (state-machines §4.9).
const SUFFICIENT: &[HostValidationId] = &[
    HasMemoryForRole,
    HasCpuCoresForRole,
    BelongsToMachineCidr,
    HostnameUnique,
    HostnameValid,
    IgnitionDownloadable,
    BelongsToMajorityGroup,
    SufficientNetworkLatencyRequirementForRole,
    SufficientPacketLossRequirementForRole,
    HasDefaultRoute,
    ApiDomainNameResolvedCorrectly,
    ApiIntDomainNameResolvedCorrectly,
    AppsDomainNameResolvedCorrectly,
    DnsWildcardNotConfigured,
    ValidPlatformNetworkSettings,
    SufficientInstallationDiskSpeed,
    NonOverlappingSubnets,
    CompatibleAgent,
    TimeSyncedBetweenHostAndService,
    NoSkipInstallationDisk,
    NoSkipMissingDisk,
    NoIpCollisionsInNetwork,
    NoIscsiNicBelongsToMachineCidr,
    OclDiskCompatible,
    OclBuildResources,
];

impl Condition {
    /// Answers the question.
    pub(crate) fn holds(self, rule_context: &RuleContext<'_>) -> bool {
        let host = &rule_context.host.record.host;
        let passes = |id| rule_context.results.is_some_and(|results| results.condition(id));
        let progress = host.progress.as_ref();
        match self {
            Self::Passes(id) => passes(id),
            Self::All(group) => {
                let left_out = |id| rule_context.results.is_some_and(|results| results.is_left_out(id));
                group.members().all(|id| passes(id) || left_out(id))
            }
            Self::Day2 => rule_context.host.is_day2(),
            Self::HasRole => {
                matches!(host.role, Some(HostRole::Master | HostRole::Arbiter | HostRole::Worker))
            }
            Self::BootedWrongDevice => match rule_context.stage() {
                Some(HostStage::Rebooting) => true,
                Some(HostStage::Done) => rule_context.host.is_day2(),
                _ => false,
            },
            Self::Stage(stage) => rule_context.stage() == Some(stage),
            Self::StageOverdue => rule_context.is_stage_overdue(),
            Self::StageOverdueReported => progress.is_some_and(|progress| progress.stage_timed_out),
            Self::StageHeldBack => rule_context.is_stage_held_back(),
            Self::SilenceReported => host.connection_timed_out,
            Self::SoftTimeouts => rule_context.context.is_some_and(|context| context.soft_timeouts),
            Self::Cluster(status) => {
                rule_context.context.and_then(|context| context.cluster_status) == Some(status)
            }
            Self::Dispensable => rule_context.context.is_some_and(|context| context.would_succeed),
            Self::DiskTested => rule_context.is_disk_tested(),
            Self::ImagesPulled => rule_context.are_images_pulled(),
            Self::Overdue(limit) => rule_context.context.is_some_and(|context| {
                context.now > deadline::after(host.status_updated_at.0, limit.of(&context.policy))
            }),
            Self::LogsOverdue => rule_context.are_logs_overdue(),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passes(id) => id.fmt(f),
            Self::All(group) => f.write_str(group.name()),
            Self::Day2 => f.write_str("day-2"),
            Self::HasRole => f.write_str("has a role"),
            Self::BootedWrongDevice => f.write_str("booted from the wrong device"),
            Self::Stage(stage) => write!(f, "stage is {stage}"),
            Self::StageOverdue => f.write_str("stage takes too long"),
            Self::StageOverdueReported => f.write_str("that was told"),
            Self::StageHeldBack => f.write_str("waits for a host that a person must help"),
            Self::SilenceReported => f.write_str("silence was told"),
            Self::SoftTimeouts => f.write_str("soft time limits"),
            Self::Cluster(status) => write!(f, "cluster is {status}"),
            Self::Dispensable => f.write_str("the cluster would succeed without it"),
            Self::DiskTested => f.write_str("disk tested"),
            Self::ImagesPulled => f.write_str("images pulled"),
            Self::Overdue(limit) => write!(f, "takes too long {}", limit.name()),
            Self::LogsOverdue => f.write_str("logs take too long"),
        }
    }
}
