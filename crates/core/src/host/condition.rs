//! What the rules of the host's machine ask: validations by their id, named groups of them, and predicates.

use std::fmt;

use assisted_wire::host::HostValidationId::{self, *};
use assisted_wire::host::{HostRole, HostStage};

use crate::facts::HostFacts;
use crate::validation::Results;

/// A question about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The validation passes, or does not apply, or is disabled or ignored.
    Passes(HostValidationId),
    /// Every validation of the group passes.
    All(Group),
    /// The host came back from the discovery image although it should have booted its disk.
    BootedWrongDevice,
    /// The installer said that it reboots the host.
    Rebooting,
    /// The host's role was decided upon.
    HasRole,
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
    pub const fn members(self) -> &'static [HostValidationId] {
        match self {
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
        }
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

/// What a host needs besides minimal hardware and input (state-machines §4.9).
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
    LsoRequirementsSatisfied,
    OdfRequirementsSatisfied,
    LvmRequirementsSatisfied,
    MceRequirementsSatisfied,
    MtvRequirementsSatisfied,
    OscRequirementsSatisfied,
    CnvRequirementsSatisfied,
    NodeFeatureDiscoveryRequirementsSatisfied,
    NvidiaGpuRequirementsSatisfied,
    PipelinesRequirementsSatisfied,
    ServicemeshRequirementsSatisfied,
    ServerlessRequirementsSatisfied,
    OpenshiftAiRequirementsSatisfied,
    AuthorinoRequirementsSatisfied,
    NmstateRequirementsSatisfied,
    AmdGpuRequirementsSatisfied,
    KmmRequirementsSatisfied,
    NodeHealthcheckRequirementsSatisfied,
    SelfNodeRemediationRequirementsSatisfied,
    FenceAgentsRemediationRequirementsSatisfied,
    NodeMaintenanceRequirementsSatisfied,
    KubeDeschedulerRequirementsSatisfied,
    ClusterObservabilityRequirementsSatisfied,
    NumaResourcesRequirementsSatisfied,
    OadpRequirementsSatisfied,
    MetallbRequirementsSatisfied,
    LokiRequirementsSatisfied,
    OpenshiftLoggingRequirementsSatisfied,
];

impl Condition {
    /// Answers the question. Without results no validation passes.
    pub(crate) fn holds(self, host: &HostFacts, results: Option<&Results<HostValidationId>>) -> bool {
        let passes = |id| results.is_some_and(|results| results.condition(id));
        let stage = host.record.host.progress.as_ref().and_then(|progress| progress.current_stage);
        match self {
            Self::Passes(id) => passes(id),
            Self::All(group) => group.members().iter().copied().all(passes),
            Self::Rebooting => stage == Some(HostStage::Rebooting),
            Self::BootedWrongDevice => {
                stage == Some(HostStage::Rebooting) || (host.is_day2() && stage == Some(HostStage::Done))
            }
            Self::HasRole => {
                matches!(host.record.host.role, Some(HostRole::Master | HostRole::Arbiter | HostRole::Worker))
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passes(id) => id.fmt(f),
            Self::All(group) => f.write_str(group.name()),
            Self::BootedWrongDevice => f.write_str("booted from the wrong device"),
            Self::Rebooting => f.write_str("rebooting"),
            Self::HasRole => f.write_str("has a role"),
        }
    }
}
