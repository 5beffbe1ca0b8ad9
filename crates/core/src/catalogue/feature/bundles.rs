//! Which bundles of operators can be had (service-api §9, operators §8).

use assisted_wire::operator::Bundle;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::{Unavailable, Unsupported};

use super::levels;
use super::query::{FeatureQuery, QueryError};
use crate::catalogue::operators::bundle::BUNDLES;
use crate::catalogue::operators::find;

/// The bundles of which every operator can be had beside these features, without the optional operators that can't;
/// without a version, all.
///
/// # Errors
///
/// See [`QueryError`]; each is the client's fault.
pub fn bundles(query: &FeatureQuery, features: &[Id]) -> Result<Vec<Bundle>, QueryError> {
    let listed = BUNDLES.iter().map(|bundle| bundle.listed(features.contains(&Id::Sno)));
    if query.openshift_version.is_empty() {
        return Ok(listed.collect());
    }
    query.check()?;
    let available =
        |name: &String| find(name).is_some_and(|operator| goes(operator.feature(), query, features));
    let whole = listed.filter(|bundle| bundle.operators.iter().flatten().all(available));
    Ok(whole
        .map(|mut bundle| {
            bundle.optional_operators.iter_mut().for_each(|optional| optional.retain(available));
            bundle
        })
        .collect())
}

/// Whether an operator's feature can be had, and goes with the others.
fn goes(feature: Id, query: &FeatureQuery, others: &[Id]) -> bool {
    let excluded = levels::of(feature).map(|rule| rule.excluded_features(&query.openshift_version));
    !matches!(levels::level(feature, &query.target()).level, Unavailable | Unsupported)
        && !excluded.into_iter().flatten().any(|other| others.contains(&other))
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster_params::CpuArchitecture;

    use super::*;

    fn query(version: &str, architecture: CpuArchitecture) -> FeatureQuery {
        FeatureQuery {
            openshift_version: version.to_owned(),
            cpu_architecture: architecture,
            platform_type: None,
            external_platform_name: None,
        }
    }

    fn ids(query: &FeatureQuery, features: &[Id]) -> Vec<String> {
        bundles(query, features).unwrap().into_iter().map(|bundle| bundle.id).collect()
    }

    #[test]
    fn what_can_be_had() {
        let (x86, s390x) = (CpuArchitecture::X8664, CpuArchitecture::S390x);
        assert_eq!(ids(&query("", s390x), &[]), ["virtualization", "openshift-ai"]);
        assert_eq!(ids(&query("4.20", x86), &[]), ["virtualization", "openshift-ai"]);
        assert!(ids(&query("4.20", s390x), &[]).is_empty());
        assert!(bundles(&query("nonsense", x86), &[]).is_err());
        let single = bundles(&query("", x86), &[Id::Sno]).unwrap();
        assert_eq!(single[1].operators.as_deref().unwrap(), ["lvm", "openshift-ai"]);
    }

    #[test]
    fn beside_other_features() {
        let beside = |version: &str, features: &[Id]| ids(&query(version, CpuArchitecture::X8664), features);
        for feature in [
            Id::Sno,
            Id::ExternalPlatform,
            Id::ExternalPlatformOci,
            Id::NutanixIntegration,
            Id::VsphereIntegration,
        ] {
            let others = beside("4.20", &[feature]);
            assert!(!others.iter().any(|id| id == "virtualization"), "{feature}: {others:?}");
        }
        assert_eq!(beside("4.20", &[Id::Lvm]), ["virtualization"]);
        assert_eq!(beside("4.20", &[Id::Sno]), ["openshift-ai"]);
        // A single node has lvm in it instead of odf, with the rules of lvm.
        assert_eq!(beside("4.20", &[Id::Sno, Id::Lvm]), ["openshift-ai"]);
        assert!(beside("4.20", &[Id::Sno, Id::Odf]).is_empty());
        assert_eq!(beside("4.14", &[Id::Sno]), ["openshift-ai"]);
        assert!(beside("4.14", &[Id::Sno, Id::VipAutoAlloc]).is_empty());
        assert_eq!(beside("4.15", &[Id::Sno, Id::VipAutoAlloc]), ["openshift-ai"]);
    }
}
