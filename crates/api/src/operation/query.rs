//! Parameters in the form that the use cases take.

use std::str::FromStr;

use assisted_service::catalogue::{FeatureQuery, ListOpenshiftVersions};
use assisted_service::cluster::{GetCluster, ListClusterHosts, ListClusters};
use assisted_service::event::ListEvents;
use assisted_service::event::live::Watch;
use assisted_service::file::log::DownloadLogs;
use assisted_service::file::manifest::ManifestFile;
use assisted_service::file::{InfraEnvFile, PresignedFile};
use assisted_service::infra_env::{DownloadInfraEnvFiles, ListInfraEnvs};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::manifest::ManifestFolder;
use assisted_wire::operation::name::{self, Name};
use assisted_wire::support_level::FeatureSupportLevelId;

use super::call::Call;
use crate::check::params::Params;
use crate::error::ApiError;

fn owned(params: &Params, name: Name<String>) -> Option<String> {
    params.text(name).map(str::to_owned)
}

/// A value of an enumeration; its text has been judged before.
fn enumeration<T: FromStr>(params: &Params, name: Name<String>) -> Option<T> {
    params.text(name).and_then(|text| text.parse().ok())
}

fn each<T: FromStr>(params: &Params, name: Name<Vec<String>>) -> Option<Vec<T>> {
    params.list(name).map(|items| items.iter().filter_map(|text| text.parse().ok()).collect())
}

pub(super) fn list_clusters(params: &Params) -> ListClusters {
    ListClusters {
        get_unregistered_clusters: params.flag(name::GET_UNREGISTERED_CLUSTERS),
        openshift_cluster_id: params.uuid(name::OPENSHIFT_CLUSTER_ID),
        ams_subscription_ids: params.list(name::AMS_SUBSCRIPTION_IDS).map(<[String]>::to_vec),
        with_hosts: params.flag(name::WITH_HOSTS),
        owner: owned(params, name::OWNER),
    }
}

pub(super) fn get_cluster(call: &Call<'_>) -> Result<GetCluster, ApiError> {
    Ok(GetCluster {
        cluster_id: call.cluster_id()?,
        get_unregistered_clusters: call.params.flag(name::GET_UNREGISTERED_CLUSTERS),
        exclude_hosts: call.params.flag(name::EXCLUDE_HOSTS),
    })
}

pub(super) fn list_cluster_hosts(call: &Call<'_>) -> Result<ListClusterHosts, ApiError> {
    Ok(ListClusterHosts {
        cluster_id: call.cluster_id()?,
        role: enumeration(&call.params, name::ROLE),
        status: owned(&call.params, name::STATUS),
        with_inventory: call.params.flag(name::WITH_INVENTORY),
        with_connectivity: call.params.flag(name::WITH_CONNECTIVITY),
    })
}

pub(super) fn manifest_file(call: &Call<'_>) -> Result<ManifestFile, ApiError> {
    Ok(ManifestFile {
        cluster_id: call.cluster_id()?,
        folder: enumeration(&call.params, name::FOLDER).unwrap_or(ManifestFolder::Manifests),
        file_name: call.text(name::FILE_NAME).to_owned(),
    })
}

pub(super) fn download_logs(call: &Call<'_>) -> Result<DownloadLogs, ApiError> {
    Ok(DownloadLogs {
        cluster_id: call.cluster_id()?,
        logs_type: enumeration(&call.params, name::LOGS_TYPE),
        host_id: call.params.uuid(name::HOST_ID).map(HostId),
    })
}

pub(super) fn presigned_file(call: &Call<'_>) -> Result<PresignedFile, ApiError> {
    Ok(PresignedFile {
        cluster_id: call.cluster_id()?,
        file_name: call.text(name::FILE_NAME).to_owned(),
        logs_type: enumeration(&call.params, name::LOGS_TYPE),
        host_id: call.params.uuid(name::HOST_ID).map(HostId),
        additional_name: owned(&call.params, name::ADDITIONAL_NAME),
    })
}

pub(super) fn infra_env_file(call: &Call<'_>) -> Result<InfraEnvFile, ApiError> {
    Ok(InfraEnvFile {
        infra_env_id: call.infra_env_id()?,
        file_name: call.text(name::FILE_NAME).to_owned(),
        ipxe_script_type: owned(&call.params, name::IPXE_SCRIPT_TYPE),
    })
}

pub(super) fn download_infra_env_files(call: &Call<'_>) -> Result<DownloadInfraEnvFiles, ApiError> {
    Ok(DownloadInfraEnvFiles {
        infra_env_id: call.infra_env_id()?,
        file_name: call.text(name::FILE_NAME).to_owned(),
        discovery_iso_type: enumeration(&call.params, name::DISCOVERY_ISO_TYPE),
        mac: owned(&call.params, name::MAC),
        ipxe_script_type: owned(&call.params, name::IPXE_SCRIPT_TYPE),
    })
}

pub(super) fn list_infra_envs(params: &Params) -> ListInfraEnvs {
    ListInfraEnvs {
        cluster_id: params.uuid(name::CLUSTER_ID).map(ClusterId),
        owner: owned(params, name::OWNER),
    }
}

pub(super) fn list_events(params: &Params) -> ListEvents {
    let flag = |name: Name<bool>| params.flag(name).then_some(true);
    ListEvents {
        cluster_id: params.uuid(name::CLUSTER_ID).map(ClusterId),
        host_id: params.uuid(name::HOST_ID).map(HostId),
        host_ids: each(params, name::HOST_IDS),
        infra_env_id: params.uuid(name::INFRA_ENV_ID).map(InfraEnvId),
        limit: params.integer(name::LIMIT),
        offset: params.integer(name::OFFSET),
        descending: params.text(name::ORDER) == Some("descending"),
        severities: each(params, name::SEVERITIES),
        message: owned(params, name::MESSAGE),
        deleted_hosts: flag(name::DELETED_HOSTS),
        cluster_level: flag(name::CLUSTER_LEVEL),
        categories: each(params, name::CATEGORIES),
    }
}

/// A cursor that can't be read is one of which nothing is known.
pub(super) fn watch(params: &Params) -> Watch {
    Watch {
        infra_envs: false,
        cluster_id: params.uuid(name::CLUSTER_ID).map(ClusterId),
        cursor: enumeration(params, name::LAST_EVENT_ID),
    }
}

pub(super) fn list_openshift_versions(params: &Params) -> ListOpenshiftVersions {
    ListOpenshiftVersions {
        version: owned(params, name::VERSION),
        only_latest: params.flag(name::ONLY_LATEST),
    }
}

/// The features that something is to go with.
pub(super) fn feature_ids(params: &Params) -> Vec<FeatureSupportLevelId> {
    each(params, name::FEATURE_IDS).unwrap_or_default()
}

pub(super) fn feature_query(params: &Params) -> FeatureQuery {
    FeatureQuery {
        openshift_version: owned(params, name::OPENSHIFT_VERSION).unwrap_or_default(),
        cpu_architecture: enumeration(params, name::CPU_ARCHITECTURE).unwrap_or(CpuArchitecture::X8664),
        platform_type: enumeration(params, name::PLATFORM_TYPE),
        external_platform_name: owned(params, name::EXTERNAL_PLATFORM_NAME),
    }
}
