//! What can be installed: versions of components and of OpenShift, what each supports, and operators.

mod operator;

use std::sync::Arc;

use assisted_config as config;
use assisted_core::catalogue::feature::{self, QueryError};
use assisted_core::catalogue::release::{self, release_image};
use assisted_core::model::refusal::Refusal;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::network::{DnsProvider, ListManagedDomains, ManagedDomain};
use assisted_wire::secret::Secret;
use assisted_wire::support_level::{SupportedArchitectures, SupportedFeatures};
use assisted_wire::supported_features::DetailedSupportedFeatures;
use assisted_wire::version::{ListVersions, OpenshiftVersions, ReleaseImage, ReleaseSources};

pub use assisted_core::catalogue::feature::FeatureQuery;

pub use crate::available_versions::open;

use crate::available_versions::AvailableVersions;
use crate::database::Database;
use crate::generator::{Generator, ReleaseComponent};
use crate::parts::Parts;
use crate::{Caller, Error};

/// What can be installed: it depends on no cluster.
pub struct Catalogue {
    database: Arc<Database>,
    available: Arc<AvailableVersions>,
    generator: Arc<dyn Generator>,
    domains: config::ManagedDomains,
}

impl Catalogue {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            database: Arc::clone(&parts.database),
            available: Arc::clone(&parts.available),
            generator: Arc::clone(&parts.generator),
            domains: parts.settings.dns.domains.clone(),
        }
    }
}

/// Which OpenShift versions to list.
#[derive(Clone, Debug, Default)]
pub struct ListOpenshiftVersions {
    /// Part of the version.
    pub version: Option<String>,
    pub only_latest: bool,
}

impl Catalogue {
    /// Versions of the service's own components.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn list_component_versions(&self, _: &Caller) -> Result<ListVersions, Error> {
        Ok(release::component_versions(self.database.policy()))
    }

    /// Versions of OpenShift that can be installed.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn list_supported_openshift_versions(
        &self,
        _: &Caller,
        query: ListOpenshiftVersions,
    ) -> Result<OpenshiftVersions, Error> {
        let query = release::VersionQuery {
            version: query.version.unwrap_or_default(),
            only_latest: query.only_latest,
        };
        Ok(release::openshift_versions(&self.available.policy(), &query))
    }

    /// The release that an image holds. One that nobody configured is read with these registry credentials, once, and offered from
    /// then on.
    ///
    /// # Errors
    ///
    /// 409 when the image can't be read, or is no release.
    pub async fn release_image(&self, url: &str, pull_secret: &Secret) -> Result<ReleaseImage, Error> {
        if let Ok(known) = release_image::by_url(&self.available.policy().versions, url) {
            return Ok(known.clone());
        }
        let read = self.generator.release(url, pull_secret).await?;
        self.available.add(read.clone());
        Ok(read)
    }

    /// What an image serves, read with these registry credentials.
    ///
    /// # Errors
    ///
    /// 409 when the image can't be read.
    pub async fn image_architectures(
        &self,
        url: &str,
        pull_secret: &Secret,
    ) -> Result<Vec<CpuArchitecture>, Error> {
        Ok(self.generator.architectures(url, pull_secret).await?)
    }

    /// The image in a release that has this name, read with these registry credentials.
    ///
    /// # Errors
    ///
    /// 409 when the release can't be read, or has none.
    pub async fn release_component(
        &self,
        url: &str,
        name: &str,
        pull_secret: &Secret,
    ) -> Result<ReleaseComponent, Error> {
        Ok(self.generator.component(url, name, pull_secret).await?)
    }

    /// Where releases come from.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn list_release_sources(&self, _: &Caller) -> Result<ReleaseSources, Error> {
        Ok(release::release_sources(self.database.policy()))
    }

    /// The support level of each feature.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn get_supported_features(
        &self,
        _: &Caller,
        query: FeatureQuery,
    ) -> Result<SupportedFeatures, Error> {
        Ok(feature::features(&query))
    }

    /// The support level of each feature, with reasons and what excludes what.
    ///
    /// # Errors
    ///
    /// 400 when version, architecture or platform are not supported.
    pub async fn get_detailed_supported_features(
        &self,
        _: &Caller,
        query: FeatureQuery,
    ) -> Result<DetailedSupportedFeatures, Error> {
        feature::detailed(&query).map_err(|error: QueryError| Refusal::invalid(error).into())
    }

    /// The support level of each architecture.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn get_supported_architectures(
        &self,
        _: &Caller,
        openshift_version: &str,
    ) -> Result<SupportedArchitectures, Error> {
        Ok(feature::architectures(openshift_version))
    }

    /// Domains whose records the service manages. Those that are managed by dynamic updates have no provider: clients know none
    /// but Route 53.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn list_managed_domains(&self, _: &Caller) -> Result<ListManagedDomains, Error> {
        let domain = |domain: &config::ManagedDomain| ManagedDomain {
            domain: domain.name.clone(),
            provider: (domain.provider == config::DnsProvider::Route53).then_some(DnsProvider::Route53),
        };
        Ok(ListManagedDomains(self.domains.0.iter().map(domain).collect()))
    }
}
