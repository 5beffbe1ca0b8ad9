//! What the rules of the cluster's machine ask: named groups of validations, and predicates.

use std::fmt;

use assisted_wire::cluster::ClusterValidationId::{self, *};

use crate::cluster::record::ClusterRecord;
use crate::validation::{Results, topology};

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
}

impl Condition {
    /// The validations that must pass for the condition to hold; none for a predicate.
    pub const fn members(self) -> &'static [ClusterValidationId] {
        match self {
            Self::VipDhcp => &[],
            Self::InputComplete => {
                &[MachineCidrDefined, ClusterCidrDefined, ServiceCidrDefined, DnsDomainDefined, PullSecretSet]
            }
            Self::VipsDefined => &[IngressVipsDefined, ApiVipsDefined],
            Self::Installable => INSTALLABLE,
        }
    }

    /// Answers the question.
    pub(crate) fn holds(self, record: &ClusterRecord, results: &Results<ClusterValidationId>) -> bool {
        match self {
            Self::VipDhcp => topology::is_vip_dhcp(&record.cluster),
            Self::InputComplete | Self::VipsDefined | Self::Installable => results.all(self.members()),
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
        })
    }
}

/// What an installation depends on (state-machines §3.7).
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
    OdfRequirementsSatisfied,
    LsoRequirementsSatisfied,
    CnvRequirementsSatisfied,
    LvmRequirementsSatisfied,
    MceRequirementsSatisfied,
    MtvRequirementsSatisfied,
    OscRequirementsSatisfied,
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
