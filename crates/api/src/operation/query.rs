//! Parameters in the form that the use cases take.

use assisted_core::model::host::HostKey;
use assisted_service::cluster::{GetCluster, ListClusterHosts, ListClusters};
use assisted_service::event::ListEvents;
use assisted_service::infra_env::ListInfraEnvs;
use assisted_service::live::Watch;
use assisted_service::version::{FeatureQuery, ListOpenshiftVersions};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::live::LAST_EVENT_ID;
use assisted_wire::support_level::FeatureSupportLevelId;
use std::str::FromStr;

use crate::check::params::Params;

/// The id in the path; an operation that has none of this name never asks.
pub(super) fn cluster_id(params: &Params) -> ClusterId {
    ClusterId(params.uuid("cluster_id").unwrap_or_default())
}

pub(super) fn infra_env_id(params: &Params) -> InfraEnvId {
    InfraEnvId(params.uuid("infra_env_id").unwrap_or_default())
}

pub(super) fn host_key(params: &Params) -> HostKey {
    HostKey {
        infra_env_id: infra_env_id(params),
        host_id: HostId(params.uuid("host_id").unwrap_or_default()),
    }
}

fn owned(params: &Params, name: &str) -> Option<String> {
    params.text(name).map(str::to_owned)
}

/// A value of an enumeration; its text has been judged before.
fn known<T: FromStr>(params: &Params, name: &str) -> Option<T> {
    params.text(name).and_then(|text| text.parse().ok())
}

fn each<T: FromStr>(params: &Params, name: &str) -> Option<Vec<T>> {
    params.list(name).map(|items| items.iter().filter_map(|text| text.parse().ok()).collect())
}

pub(super) fn list_clusters(params: &Params) -> ListClusters {
    ListClusters {
        get_unregistered_clusters: params.flag("get_unregistered_clusters"),
        openshift_cluster_id: params.uuid("openshift_cluster_id"),
        ams_subscription_ids: params.list("ams_subscription_ids").map(<[String]>::to_vec),
        with_hosts: params.flag("with_hosts"),
        owner: owned(params, "owner"),
    }
}

pub(super) fn get_cluster(params: &Params) -> GetCluster {
    GetCluster {
        cluster_id: cluster_id(params),
        get_unregistered_clusters: params.flag("get_unregistered_clusters"),
        exclude_hosts: params.flag("exclude-hosts"),
    }
}

pub(super) fn list_cluster_hosts(params: &Params) -> ListClusterHosts {
    ListClusterHosts {
        cluster_id: cluster_id(params),
        role: known(params, "role"),
        status: owned(params, "status"),
        with_inventory: params.flag("with-inventory"),
        with_connectivity: params.flag("with-connectivity"),
    }
}

pub(super) fn list_infra_envs(params: &Params) -> ListInfraEnvs {
    ListInfraEnvs { cluster_id: params.uuid("cluster_id").map(ClusterId), owner: owned(params, "owner") }
}

pub(super) fn list_events(params: &Params) -> ListEvents {
    let flag = |name| params.flag(name).then_some(true);
    ListEvents {
        cluster_id: params.uuid("cluster_id").map(ClusterId),
        host_id: params.uuid("host_id").map(HostId),
        host_ids: each(params, "host_ids"),
        infra_env_id: params.uuid("infra_env_id").map(InfraEnvId),
        limit: params.integer("limit"),
        offset: params.integer("offset"),
        descending: params.text("order") == Some("descending"),
        severities: each(params, "severities"),
        message: owned(params, "message"),
        deleted_hosts: flag("deleted_hosts"),
        cluster_level: flag("cluster_level"),
        categories: each(params, "categories"),
    }
}

/// A place that can't be read is one of which nothing is known.
pub(super) fn watch(params: &Params) -> Watch {
    Watch { cluster_id: params.uuid("cluster_id").map(ClusterId), place: known(params, LAST_EVENT_ID) }
}

pub(super) fn list_openshift_versions(params: &Params) -> ListOpenshiftVersions {
    ListOpenshiftVersions { version: owned(params, "version"), only_latest: params.flag("only_latest") }
}

/// The features that something is to go with.
pub(super) fn feature_ids(params: &Params) -> Vec<FeatureSupportLevelId> {
    each(params, "feature_ids").unwrap_or_default()
}

pub(super) fn feature_query(params: &Params) -> FeatureQuery {
    FeatureQuery {
        openshift_version: owned(params, "openshift_version").unwrap_or_default(),
        cpu_architecture: known(params, "cpu_architecture").unwrap_or(CpuArchitecture::X8664),
        platform_type: known(params, "platform_type"),
        external_platform_name: owned(params, "external_platform_name"),
    }
}
