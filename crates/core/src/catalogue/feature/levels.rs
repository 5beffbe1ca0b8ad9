//! The level of each feature and architecture: what the rules say, together.

use assisted_base::version::{Base, base};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::support_level::{
    ArchitectureSupportLevelId, FeatureSupportLevelId, IncompatibilityReason, SupportLevel,
};

use super::rule::{Rule, Support, Target};
use super::rules::{RULES, special};
use crate::catalogue::operators::OPERATORS;

/// Every rule, in a fixed order.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(OPERATORS.iter().map(|operator| &operator.rule))
}

/// The rule of a feature.
pub(crate) fn of(id: FeatureSupportLevelId) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

/// The feature's name in texts.
pub fn name(id: FeatureSupportLevelId) -> &'static str {
    of(id).map_or(id.as_str(), |rule| rule.name)
}

/// The level of a feature.
pub fn level(id: FeatureSupportLevelId, target: &Target<'_>) -> Support {
    let Some(rule) = of(id) else { return Support::unavailable(IncompatibilityReason::OpenshiftVersion) };
    if rule.excludes_architecture(target) {
        return Support::unavailable(IncompatibilityReason::CpuArchitecture);
    }
    if let Some(special) = special(id, target) {
        return special;
    }
    if rule.excludes_platform(target) {
        return Support::unavailable(IncompatibilityReason::Platform);
    }
    rule.of_version(target.version)
}

/// Whether a feature can be used.
pub fn is_available(id: FeatureSupportLevelId, target: &Target<'_>) -> bool {
    level(id, target).level != SupportLevel::Unavailable
}

/// The id under which an architecture is listed.
pub const fn architecture_id(architecture: CpuArchitecture) -> ArchitectureSupportLevelId {
    match architecture {
        CpuArchitecture::X8664 => ArchitectureSupportLevelId::X8664Architecture,
        CpuArchitecture::Aarch64 | CpuArchitecture::Arm64 => ArchitectureSupportLevelId::Arm64Architecture,
        CpuArchitecture::Ppc64le => ArchitectureSupportLevelId::Ppc64leArchitecture,
        CpuArchitecture::S390x => ArchitectureSupportLevelId::S390xArchitecture,
        CpuArchitecture::Multi => ArchitectureSupportLevelId::MultiarchReleaseImage,
    }
}

/// The level of an architecture.
pub fn architecture_level(id: ArchitectureSupportLevelId, version: &str) -> SupportLevel {
    let since = |from: Base, level| match base(version) {
        Some(version) if version >= from => level,
        _ => SupportLevel::Unavailable,
    };
    match id {
        ArchitectureSupportLevelId::X8664Architecture => SupportLevel::Supported,
        ArchitectureSupportLevelId::Arm64Architecture => since(Base(4, 10), SupportLevel::Supported),
        ArchitectureSupportLevelId::S390xArchitecture | ArchitectureSupportLevelId::Ppc64leArchitecture => {
            if base(version) == Some(Base(4, 12)) {
                SupportLevel::TechPreview
            } else {
                since(Base(4, 13), SupportLevel::Supported)
            }
        }
        ArchitectureSupportLevelId::MultiarchReleaseImage => since(Base(4, 11), SupportLevel::TechPreview),
    }
}
