//! Which bundles of operators can be had (service-api §9).

use assisted_wire::operator::Bundle;

use super::query::{FeatureQuery, QueryError};
use super::rule::is_available;
use crate::rules::operator::bundle::BUNDLES;
use crate::rules::operator::catalogue;

/// The bundles of which every operator can be had, without the optional operators that can't; without a version, all.
///
/// # Errors
///
/// See [`QueryError`]; each is the client's fault.
pub fn bundles(query: &FeatureQuery, single_node: bool) -> Result<Vec<Bundle>, QueryError> {
    let listed = BUNDLES.iter().map(|bundle| bundle.listed(single_node));
    if query.openshift_version.is_empty() {
        return Ok(listed.collect());
    }
    query.check()?;
    let target = query.target();
    let available =
        |name: &String| catalogue::find(name).is_some_and(|operator| is_available(operator.feature, &target));
    let whole = listed.filter(|bundle| bundle.operators.iter().flatten().all(available));
    Ok(whole
        .map(|mut bundle| {
            bundle.optional_operators.iter_mut().for_each(|optional| optional.retain(available));
            bundle
        })
        .collect())
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

    fn ids(query: &FeatureQuery) -> Vec<String> {
        bundles(query, false).unwrap().into_iter().map(|bundle| bundle.id).collect()
    }

    #[test]
    fn what_can_be_had() {
        assert_eq!(ids(&query("", CpuArchitecture::S390x)), ["virtualization", "openshift-ai"]);
        assert_eq!(ids(&query("4.20", CpuArchitecture::X8664)), ["virtualization", "openshift-ai"]);
        assert!(ids(&query("4.20", CpuArchitecture::S390x)).is_empty());
        assert!(bundles(&query("nonsense", CpuArchitecture::X8664), false).is_err());
        let single = bundles(&query("", CpuArchitecture::X8664), true).unwrap();
        assert_eq!(single[1].operators.as_deref().unwrap(), ["lvm", "openshift-ai"]);
    }
}
