//! What the service knows and supports.

use assisted_wire::operation::OperationId;
use assisted_wire::support_level::{SupportedArchitectures, SupportedFeatures};
use assisted_wire::supported_features::DetailedSupportedFeatures;
use assisted_wire::version::{
    ListVersions, OpenshiftVersions, ReleaseImage, ReleaseImageParams, ReleaseSources,
};

use crate::call::Call;
use crate::{Client, Error};

/// Which OpenShift versions a list shows.
#[derive(Clone, Debug, Default)]
pub struct VersionFilter {
    /// Beginning of the version.
    pub version: Option<String>,
    /// Whether only the newest of each minor version is shown.
    pub only_latest: bool,
}

/// What support is asked for.
#[derive(Clone, Debug, Default)]
pub struct SupportFilter {
    pub openshift_version: String,
    pub cpu_architecture: Option<String>,
    pub platform_type: Option<String>,
    pub external_platform_name: Option<String>,
}

impl Client {
    /// The release that an image holds; one that is not known is read, and offered from then on.
    pub async fn read_release_image(&self, params: &ReleaseImageParams) -> Result<ReleaseImage, Error> {
        self.call(OperationId::ReadReleaseImage).json(params).send().await
    }

    /// Versions of the service's own parts.
    pub async fn component_versions(&self) -> Result<ListVersions, Error> {
        self.call(OperationId::ListComponentVersions).send().await
    }

    pub async fn openshift_versions(&self, filter: &VersionFilter) -> Result<OpenshiftVersions, Error> {
        self.call(OperationId::ListSupportedOpenshiftVersions)
            .query("version", filter.version.as_ref())
            .query("only_latest", filter.only_latest.then_some(true))
            .send()
            .await
    }

    pub async fn release_sources(&self) -> Result<ReleaseSources, Error> {
        self.call(OperationId::ListReleaseSources).send().await
    }

    pub async fn supported_features(&self, filter: &SupportFilter) -> Result<SupportedFeatures, Error> {
        self.support(OperationId::GetSupportedFeatures, filter).send().await
    }

    pub async fn detailed_supported_features(
        &self,
        filter: &SupportFilter,
    ) -> Result<DetailedSupportedFeatures, Error> {
        self.support(OperationId::GetDetailedSupportedFeatures, filter).send().await
    }

    pub async fn supported_architectures(
        &self,
        openshift_version: &str,
    ) -> Result<SupportedArchitectures, Error> {
        let call = self.call(OperationId::GetSupportedArchitectures);
        call.query("openshift_version", Some(openshift_version)).send().await
    }

    fn support(&self, operation: OperationId, filter: &SupportFilter) -> Call<'_> {
        self.call(operation)
            .query("openshift_version", Some(&filter.openshift_version))
            .query("cpu_architecture", filter.cpu_architecture.as_ref())
            .query("platform_type", filter.platform_type.as_ref())
            .query("external_platform_name", filter.external_platform_name.as_ref())
    }
}
