//! What a rule about a feature says, for a version, an architecture and a platform.

use assisted_base::version::{Base, base};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::platform::PlatformType;
use assisted_wire::support_level::{FeatureSupportLevelId, IncompatibilityReason, SupportLevel};

use crate::catalogue::release::architecture::normal;
use crate::model::topology::OCI;

/// The version, architecture and platform that a feature is checked for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub version: &'a str,
    pub architecture: CpuArchitecture,
    /// `None`: the platform is not considered.
    pub platform: Option<PlatformType>,
    /// Name of an external platform; empty: any.
    pub external_platform: &'a str,
}

impl<'a> Target<'a> {
    /// A version on an architecture, on whatever platform.
    pub fn new(version: &'a str, architecture: CpuArchitecture) -> Self {
        Self { version, architecture: normal(architecture), platform: None, external_platform: "" }
    }

    pub(crate) fn is_oci(&self) -> bool {
        self.platform == Some(PlatformType::External) && self.external_platform == OCI
    }
}

/// A level, with the reason when it is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    pub level: SupportLevel,
    pub reason: Option<IncompatibilityReason>,
}

impl Support {
    pub(crate) const fn level(level: SupportLevel) -> Self {
        Self { level, reason: None }
    }

    pub(crate) const fn unavailable(reason: IncompatibilityReason) -> Self {
        Self { level: SupportLevel::Unavailable, reason: Some(reason) }
    }
}

/// Platforms that a feature is not available on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlatformExclusion {
    On(PlatformType),
    OnOci,
    /// Available only on these.
    Except(&'static [PlatformType]),
}

/// What is known about a feature. Lists name what it does not go with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) id: FeatureSupportLevelId,
    /// Name in texts.
    pub(crate) name: &'static str,
    /// From which version on it has which level, ascending; before the first it is unavailable.
    pub(crate) levels: &'static [(Base, SupportLevel)],
    /// From which version on it is gone.
    pub(crate) until: Option<Base>,
    pub(crate) platforms: &'static [PlatformExclusion],
    pub(crate) architectures: &'static [CpuArchitecture],
    /// Further architectures, below a version.
    pub(crate) architectures_below: Option<(Base, &'static [CpuArchitecture])>,
    pub(crate) features: &'static [FeatureSupportLevelId],
    /// Further features, each below a version.
    pub(crate) features_below: &'static [(Base, FeatureSupportLevelId)],
}

/// From the first version on, and for one that can't be read.
pub(crate) const ALWAYS: Base = Base(0, 0);

impl Rule {
    pub(crate) const fn new(id: FeatureSupportLevelId, name: &'static str) -> Self {
        Self {
            id,
            name,
            levels: &[(ALWAYS, SupportLevel::Supported)],
            until: None,
            platforms: &[],
            architectures: &[],
            architectures_below: None,
            features: &[],
            features_below: &[],
        }
    }

    /// Whether the feature can't be used on the architecture.
    pub(crate) fn excludes_architecture(&self, target: &Target<'_>) -> bool {
        let version = base(target.version);
        let below =
            self.architectures_below.filter(|(bound, _)| version.is_some_and(|version| version < *bound));
        self.architectures.contains(&target.architecture)
            || below.is_some_and(|(_, architectures)| architectures.contains(&target.architecture))
    }

    /// The features that this one does not go with.
    pub(crate) fn excluded_features(&self, version: &str) -> impl Iterator<Item = FeatureSupportLevelId> {
        let version = base(version);
        let below = self.features_below.iter();
        let below = below.filter(move |(bound, _)| version.is_some_and(|version| version < *bound));
        self.features.iter().copied().chain(below.map(|(_, id)| *id))
    }

    pub(super) fn of_version(&self, version: &str) -> Support {
        let by_version = Support::unavailable(IncompatibilityReason::OpenshiftVersion);
        let version = base(version);
        if let Some(until) = self.until
            && version.is_none_or(|version| version >= until)
        {
            return by_version;
        }
        let version = version.unwrap_or(ALWAYS);
        let reached = self.levels.iter().rev().find(|(from, _)| version >= *from);
        reached.map_or(by_version, |(_, level)| Support::level(*level))
    }

    pub(super) fn excludes_platform(&self, target: &Target<'_>) -> bool {
        let Some(platform) = target.platform else { return false };
        self.platforms.iter().any(|not| match not {
            PlatformExclusion::On(excluded) => *excluded == platform,
            PlatformExclusion::OnOci => target.is_oci(),
            PlatformExclusion::Except(allowed) => !allowed.contains(&platform),
        })
    }
}
