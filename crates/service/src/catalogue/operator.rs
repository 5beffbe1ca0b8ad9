//! Operators that can be installed with a cluster, and bundles of them (service-api §9).

use assisted_base::version::base;
use assisted_core::catalogue::feature::{self, FeatureQuery, QueryError};
use assisted_core::catalogue::operators::{self, bundle};
use assisted_core::model::refusal::Refusal;
use assisted_wire::operator::{Bundle, OperatorProperties};
use assisted_wire::operator_assessment::OperatorDescriptionList;
use assisted_wire::support_level::FeatureSupportLevelId;

use super::Catalogue;
use crate::{Caller, Error};

impl Catalogue {
    /// The names of all operators.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn list_supported_operators(&self, _: &Caller) -> Result<Vec<&'static str>, Error> {
        Ok(operators::by_name().into_iter().map(|operator| operator.name).collect())
    }

    /// What is known of each operator, by name, for clusters of a version; `None`: of the newest that is offered.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn list_operators(
        &self,
        _: &Caller,
        version: Option<&str>,
    ) -> Result<OperatorDescriptionList, Error> {
        let policy = self.database.policy();
        let offered = policy.versions.release_images.0.iter().map(|image| image.openshift_version.as_str());
        let version = version.or_else(|| offered.max_by_key(|version| base(version))).unwrap_or_default();
        let all = operators::by_name().into_iter().map(|each| each.description(version, &policy.operators));
        Ok(OperatorDescriptionList(all.collect()))
    }

    /// What can be set for an operator, which is nothing; `None`: there is no such operator.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn list_operator_properties(
        &self,
        _: &Caller,
        name: &str,
    ) -> Result<Option<OperatorProperties>, Error> {
        Ok(operators::find(name).map(|_| OperatorProperties::default()))
    }

    /// The bundles that can be had beside these features.
    ///
    /// # Errors
    ///
    /// 400 when version, architecture or platform are not supported.
    pub async fn list_bundles(
        &self,
        _: &Caller,
        query: FeatureQuery,
        features: &[FeatureSupportLevelId],
    ) -> Result<Vec<Bundle>, Error> {
        feature::bundles(&query, features).map_err(|error: QueryError| Refusal::invalid(error).into())
    }

    /// One bundle.
    ///
    /// # Errors
    ///
    /// 404 when there is no such bundle.
    pub async fn get_bundle(&self, _: &Caller, id: &str, single_node: bool) -> Result<Bundle, Error> {
        let missing = || Refusal::not_found(format!("bundle '{id}' is not supported"));
        Ok(bundle::find(id).ok_or_else(missing)?.listed(single_node))
    }
}
