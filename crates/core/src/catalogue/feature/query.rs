//! Answers to the questions about support levels (service-api §10.5).

use std::collections::BTreeMap;

use assisted_base::version::base;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::operator::Operator;
use assisted_wire::platform::PlatformType;
use assisted_wire::support_level::{
    ArchitectureSupportLevelId, Feature, FeatureSupportLevelId as Id, SupportLevel, SupportLevels,
    SupportedArchitectures, SupportedFeatures,
};
use assisted_wire::supported_features::DetailedSupportedFeatures;

use super::levels;
use super::rule::Target;
use crate::catalogue::operators::{self, OPERATORS};
use crate::catalogue::release::architecture::normal;
use crate::model::topology::OCI;

/// What the support levels are asked for.
#[derive(Clone, Debug)]
pub struct FeatureQuery {
    pub openshift_version: String,
    /// `aarch64` is the same as `arm64`.
    pub cpu_architecture: CpuArchitecture,
    pub platform_type: Option<PlatformType>,
    pub external_platform_name: Option<String>,
}

/// Why there is no answer in detail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("invalid openshift version: {0}")]
    Version(String),
    #[error("cpu architecture {architecture} is not supported for openshift version {version}")]
    Architecture { architecture: CpuArchitecture, version: String },
    #[error(
        "platform {platform} is not supported for openshift version {version} and cpu architecture {architecture}"
    )]
    Platform { platform: PlatformType, version: String, architecture: CpuArchitecture },
}

const PLATFORMS: &[Id] = &[
    Id::BaremetalPlatform,
    Id::NonePlatform,
    Id::NutanixIntegration,
    Id::VsphereIntegration,
    Id::ExternalPlatform,
    Id::ExternalPlatformOci,
];

impl FeatureQuery {
    pub(super) fn target(&self) -> Target<'_> {
        Target {
            platform: self.platform_type,
            external_platform: self.external_platform_name.as_deref().unwrap_or_default(),
            ..Target::new(&self.openshift_version, self.cpu_architecture)
        }
    }

    /// Whether version, architecture and platform go together.
    pub(super) fn check(&self) -> Result<(), QueryError> {
        let version = &self.openshift_version;
        let architecture = normal(self.cpu_architecture);
        if base(version).is_none() {
            return Err(QueryError::Version(version.clone()));
        }
        if !self.has_architecture() {
            return Err(QueryError::Architecture { architecture, version: version.clone() });
        }
        if let Some(platform) = self.platform_type {
            let id = of_platform(platform, self.target().external_platform);
            if !levels::is_available(id, &Target::new(version, architecture)) {
                return Err(QueryError::Platform { platform, version: version.clone(), architecture });
            }
        }
        Ok(())
    }

    /// With a platform its own features say nothing; without one, its networking does not.
    fn is_hidden(&self, id: Id) -> bool {
        if self.platform_type.is_some() {
            PLATFORMS.contains(&id)
        } else {
            id == Id::PlatformManagedNetworking
        }
    }

    fn has_architecture(&self) -> bool {
        let id = levels::architecture_id(normal(self.cpu_architecture));
        levels::architecture_level(id, &self.openshift_version) != SupportLevel::Unavailable
    }

    fn incompatibilities(&self, id: Id) -> Vec<Id> {
        let Some(rule) = levels::of(id) else { return Vec::new() };
        rule.excluded_features(&self.openshift_version).filter(|other| !self.is_hidden(*other)).collect()
    }
}

/// The feature that stands for a platform.
pub fn of_platform(platform: PlatformType, external_platform: &str) -> Id {
    match platform {
        PlatformType::Baremetal => Id::BaremetalPlatform,
        PlatformType::None => Id::NonePlatform,
        PlatformType::Nutanix => Id::NutanixIntegration,
        PlatformType::Vsphere => Id::VsphereIntegration,
        PlatformType::External if external_platform == OCI => Id::ExternalPlatformOci,
        PlatformType::External => Id::ExternalPlatform,
    }
}

/// The level of each feature.
pub fn features(query: &FeatureQuery) -> SupportedFeatures {
    let target = query.target();
    let has_architecture = query.has_architecture();
    let levels = levels::all().filter(|rule| !query.is_hidden(rule.id)).map(|rule| {
        let level =
            if has_architecture { levels::level(rule.id, &target).level } else { SupportLevel::Unavailable };
        (rule.id.as_str().to_owned(), level)
    });
    SupportedFeatures { features: Some(SupportLevels(levels.collect())) }
}

/// The level of each feature and operator, with reasons, and with what it does not go with.
///
/// # Errors
///
/// See [`QueryError`]; each is the client's fault.
pub fn detailed(query: &FeatureQuery) -> Result<DetailedSupportedFeatures, QueryError> {
    query.check()?;
    let target = query.target();
    let (mut features, mut operators) = (Vec::new(), Vec::new());
    // Clients read the ids of this answer as an enumeration, and refuse those that the contract does not have.
    let is_listed = |id: Id| !query.is_hidden(id) && id != Id::OnClusterLayering;
    for rule in levels::all().filter(|rule| is_listed(rule.id)) {
        let judgement = levels::level(rule.id, &target);
        let incompatibilities = query.incompatibilities(rule.id);
        match OPERATORS.iter().find(|operator| operator.feature() == rule.id) {
            Some(operator) => operators.push(Operator {
                feature_support_level_id: rule.id,
                support_level: judgement.level,
                reason: judgement.reason,
                incompatibilities,
                name: operator.name.to_owned(),
                dependencies: operator
                    .all_dependencies()
                    .filter_map(operators::find)
                    .map(operators::Operator::feature)
                    .collect(),
            }),
            None => features.push(Feature {
                feature_support_level_id: rule.id,
                support_level: judgement.level,
                reason: judgement.reason,
                incompatibilities,
            }),
        }
    }
    Ok(DetailedSupportedFeatures { features: Some(features), operators: Some(operators) })
}

/// The level of each architecture.
pub fn architectures(version: &str) -> SupportedArchitectures {
    let level =
        |id: &ArchitectureSupportLevelId| (id.as_str().to_owned(), levels::architecture_level(*id, version));
    let levels: BTreeMap<_, _> = ArchitectureSupportLevelId::ALL.iter().map(level).collect();
    SupportedArchitectures { architectures: Some(SupportLevels(levels)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SupportLevel::{DevPreview, Supported, TechPreview, Unavailable, Unsupported};
    use assisted_wire::support_level::IncompatibilityReason as Reason;

    fn query(version: &str, architecture: CpuArchitecture, platform: Option<PlatformType>) -> FeatureQuery {
        FeatureQuery {
            openshift_version: version.to_owned(),
            cpu_architecture: architecture,
            platform_type: platform,
            external_platform_name: None,
        }
    }

    #[test]
    fn every_feature_has_one_rule() {
        let mut ids: Vec<_> = levels::all().map(|rule| rule.id).collect();
        ids.sort_unstable();
        let mut all = Id::ALL.to_vec();
        all.sort_unstable();
        assert_eq!(ids, all);
    }

    #[test]
    fn few_exclusions_stand_on_one_side_only() {
        // Either side is enough to refuse; these are listed on one side by service-api Appendix B too.
        let mut one_sided = Vec::new();
        for rule in levels::all() {
            for other in rule.excluded_features("4.10") {
                if !levels::of(other).unwrap().excluded_features("4.10").any(|id| id == rule.id) {
                    one_sided.push((rule.id, other));
                }
            }
        }
        assert_eq!(one_sided, [(Id::Lvm, Id::VipAutoAlloc), (Id::Lvm, Id::ClusterManagedNetworking)]);
    }

    #[test]
    fn the_platform_hides_features() {
        let listed =
            |platform| features(&query("4.22", CpuArchitecture::X8664, platform)).features.unwrap().0;
        let without = listed(None);
        let with = listed(Some(PlatformType::Baremetal));
        assert!(
            without.contains_key("BAREMETAL_PLATFORM")
                && !without.contains_key("PLATFORM_MANAGED_NETWORKING")
        );
        assert!(
            !with.contains_key("BAREMETAL_PLATFORM") && with["PLATFORM_MANAGED_NETWORKING"] == Unsupported
        );
        assert_eq!(listed(Some(PlatformType::None))["PLATFORM_MANAGED_NETWORKING"], Supported);
    }

    #[test]
    fn levels() {
        use CpuArchitecture::{Arm64, Multi, Ppc64le, S390x, X8664};
        for (version, architecture, platform, id, level) in [
            ("4.22", X8664, None, Id::Sno, Supported),
            ("4.13", S390x, None, Id::Sno, DevPreview),
            ("4.12", S390x, None, Id::Sno, Unavailable),
            ("4.22", X8664, Some(PlatformType::Vsphere), Id::Sno, Unavailable),
            ("4.18", X8664, None, Id::Tna, Unavailable),
            ("4.19", X8664, None, Id::Tna, TechPreview),
            ("4.21", X8664, Some(PlatformType::None), Id::Tna, Unavailable),
            ("4.22", X8664, Some(PlatformType::None), Id::Tna, Supported),
            ("4.22", S390x, None, Id::MinimalIso, Unavailable),
            ("4.14", X8664, None, Id::VipAutoAlloc, DevPreview),
            ("4.15", X8664, None, Id::VipAutoAlloc, Unavailable),
            ("4.15", X8664, None, Id::SdnNetworkType, Unavailable),
            ("4.14.3", X8664, None, Id::SdnNetworkType, Supported),
            ("4.22", Ppc64le, None, Id::ClusterManagedNetworking, Unavailable),
            ("4.10", Arm64, None, Id::ClusterManagedNetworking, Unavailable),
            ("4.22", Multi, None, Id::NonStandardHaControlPlane, Unavailable),
            ("4.22", Arm64, None, Id::Cnv, DevPreview),
            ("4.13", Arm64, None, Id::Cnv, Unavailable),
            ("4.20.9", X8664, None, Id::OnClusterLayering, Unavailable),
            ("4.21", X8664, None, Id::OnClusterLayering, TechPreview),
            ("4.22", Arm64, None, Id::OnClusterLayering, TechPreview),
            ("4.22", S390x, None, Id::OnClusterLayering, Unavailable),
            ("4.22", Ppc64le, None, Id::OnClusterLayering, Unavailable),
            ("nonsense", X8664, None, Id::DualStackVips, Unavailable),
            ("nonsense", X8664, None, Id::CustomManifest, Supported),
        ] {
            let query = query(version, architecture, platform);
            assert_eq!(
                levels::level(id, &query.target()).level,
                level,
                "{version} {architecture} {platform:?} {id}"
            );
        }
    }

    #[test]
    fn reasons() {
        let reason = |version, architecture, platform, id| {
            levels::level(id, &query(version, architecture, platform).target()).reason
        };
        assert_eq!(
            reason("4.22", CpuArchitecture::S390x, None, Id::MinimalIso),
            Some(Reason::CpuArchitecture)
        );
        assert_eq!(reason("4.9", CpuArchitecture::X8664, None, Id::Mce), Some(Reason::OpenshiftVersion));
        let nutanix = Some(PlatformType::Nutanix);
        assert_eq!(reason("4.22", CpuArchitecture::X8664, nutanix, Id::Mce), Some(Reason::Platform));
        let oci = FeatureQuery {
            external_platform_name: Some(OCI.to_owned()),
            ..query("4.22", CpuArchitecture::X8664, Some(PlatformType::External))
        };
        assert_eq!(
            levels::level(Id::FullIso, &oci.target()).reason,
            Some(Reason::OciExternalIntegrationDisabled)
        );
    }

    #[test]
    fn details() {
        let answer = detailed(&query("4.22", CpuArchitecture::X8664, Some(PlatformType::Baremetal))).unwrap();
        let operators = answer.operators.unwrap();
        assert_eq!(operators.len(), OPERATORS.len());
        let dependencies = |name: &str| &operators.iter().find(|o| o.name == name).unwrap().dependencies;
        assert_eq!(dependencies("odf"), &[Id::Lso]);
        assert_eq!(dependencies("openshift-ai"), &[Id::Lvm]);
        for feature in answer.features.unwrap() {
            assert!(!feature.incompatibilities.iter().any(|id| PLATFORMS.contains(id)), "{feature:?}");
        }
    }

    #[test]
    fn refused_questions() {
        let text = |version, architecture, platform| {
            detailed(&query(version, architecture, platform)).unwrap_err().to_string()
        };
        assert_eq!(text("x", CpuArchitecture::X8664, None), "invalid openshift version: x");
        assert_eq!(
            text("4.9", CpuArchitecture::Aarch64, None),
            "cpu architecture arm64 is not supported for openshift version 4.9"
        );
        assert_eq!(
            text("4.22", CpuArchitecture::Arm64, Some(PlatformType::Nutanix)),
            "platform nutanix is not supported for openshift version 4.22 and cpu architecture arm64"
        );
    }

    #[test]
    fn an_unavailable_architecture_makes_everything_unavailable() {
        let levels = features(&query("4.9", CpuArchitecture::Arm64, None)).features.unwrap().0;
        assert!(levels.values().all(|level| *level == Unavailable));
        let levels = architectures("4.12").architectures.unwrap().0;
        assert_eq!(levels["S390X_ARCHITECTURE"], TechPreview);
        assert_eq!(levels["MULTIARCH_RELEASE_IMAGE"], TechPreview);
        assert_eq!(levels["ARM64_ARCHITECTURE"], Supported);
    }
}
