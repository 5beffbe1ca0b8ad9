//! Versions of components and of OpenShift, and what each supports.

use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::network::ListManagedDomains;
use assisted_wire::platform::PlatformType;
use assisted_wire::support_level::{DetailedSupportedFeatures, SupportedArchitectures, SupportedFeatures};
use assisted_wire::version::{ListVersions, OpenshiftVersions, ReleaseSources};

use crate::{Caller, Error, Service};

/// Which OpenShift versions to list.
#[derive(Clone, Debug, Default)]
pub struct ListOpenshiftVersions {
    /// Part of the version.
    pub version: Option<String>,
    pub only_latest: bool,
}

/// What to tell the support levels for.
#[derive(Clone, Debug)]
pub struct FeatureQuery {
    pub openshift_version: String,
    /// As requested: `aarch64` is the same as `arm64`.
    pub cpu_architecture: CpuArchitecture,
    pub platform_type: Option<PlatformType>,
    pub external_platform_name: Option<String>,
}

impl Service {
    /// Operation `list_component_versions`.
    pub async fn list_component_versions(&self, caller: &Caller) -> Result<ListVersions, Error> {
        let _ = (caller,);
        Err(Error::internal("not built yet"))
    }

    /// Operation `list_supported_openshift_versions`.
    pub async fn list_supported_openshift_versions(
        &self,
        caller: &Caller,
        query: ListOpenshiftVersions,
    ) -> Result<OpenshiftVersions, Error> {
        let _ = (caller, query);
        Err(Error::internal("not built yet"))
    }

    /// Operation `list_release_sources`.
    pub async fn list_release_sources(&self, caller: &Caller) -> Result<ReleaseSources, Error> {
        let _ = (caller,);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_supported_features`.
    pub async fn get_supported_features(
        &self,
        caller: &Caller,
        query: FeatureQuery,
    ) -> Result<SupportedFeatures, Error> {
        let _ = (caller, query);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_detailed_supported_features`.
    pub async fn get_detailed_supported_features(
        &self,
        caller: &Caller,
        query: FeatureQuery,
    ) -> Result<DetailedSupportedFeatures, Error> {
        let _ = (caller, query);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_supported_architectures`.
    pub async fn get_supported_architectures(
        &self,
        caller: &Caller,
        openshift_version: &str,
    ) -> Result<SupportedArchitectures, Error> {
        let _ = (caller, openshift_version);
        Err(Error::internal("not built yet"))
    }

    /// Operation `list_managed_domains`.
    pub async fn list_managed_domains(&self, caller: &Caller) -> Result<ListManagedDomains, Error> {
        let _ = (caller,);
        Err(Error::internal("not built yet"))
    }
}
