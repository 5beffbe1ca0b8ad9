//! Clusters.

use assisted_wire::cluster::{Cluster, ClusterDefaultConfig, ClusterList};
use assisted_wire::cluster_params::{
    ClusterCreateParams, ClusterUpdateParams, DisconnectedClusterCreateParams, IgnoredValidations,
    ImportClusterParams,
};
use assisted_wire::host::{HostList, HostRole};
use assisted_wire::id::ClusterId;
use assisted_wire::platform::PlatformType;
use assisted_wire::requirements::PreflightHardwareRequirements;
use uuid::Uuid;

use crate::{Caller, Error, Service};

/// Which clusters to list.
#[derive(Clone, Debug, Default)]
pub struct ListClusters {
    /// Deleted ones too; administrators only.
    pub get_unregistered_clusters: bool,
    pub openshift_cluster_id: Option<Uuid>,
    /// Text form of the ids; unknown ones match nothing.
    pub ams_subscription_ids: Option<Vec<String>>,
    /// With their hosts.
    pub with_hosts: bool,
    pub owner: Option<String>,
}

/// Which cluster to get.
#[derive(Clone, Copy, Debug)]
pub struct GetCluster {
    pub cluster_id: ClusterId,
    /// Also when it is deleted; administrators only.
    pub get_unregistered_clusters: bool,
    pub exclude_hosts: bool,
}

/// Which hosts of a cluster to list.
#[derive(Clone, Debug)]
pub struct ListClusterHosts {
    pub cluster_id: ClusterId,
    pub role: Option<HostRole>,
    pub status: Option<String>,
    pub with_inventory: bool,
    pub with_connectivity: bool,
}

impl Service {
    /// Operation `register_cluster`.
    pub async fn register_cluster(
        &self,
        caller: &Caller,
        params: ClusterCreateParams,
    ) -> Result<Cluster, Error> {
        let _ = (caller, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `register_disconnected_cluster`.
    pub async fn register_disconnected_cluster(
        &self,
        caller: &Caller,
        params: DisconnectedClusterCreateParams,
    ) -> Result<Cluster, Error> {
        let _ = (caller, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `import_cluster`.
    pub async fn import_cluster(
        &self,
        caller: &Caller,
        params: ImportClusterParams,
    ) -> Result<Cluster, Error> {
        let _ = (caller, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `list_clusters`.
    pub async fn list_clusters(&self, caller: &Caller, query: ListClusters) -> Result<ClusterList, Error> {
        let _ = (caller, query);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_cluster`.
    pub async fn get_cluster(&self, caller: &Caller, query: GetCluster) -> Result<Cluster, Error> {
        let _ = (caller, query);
        Err(Error::internal("not built yet"))
    }

    /// Operation `update_cluster`.
    pub async fn update_cluster(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: ClusterUpdateParams,
    ) -> Result<Cluster, Error> {
        let _ = (caller, cluster_id, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `deregister_cluster`.
    pub async fn deregister_cluster(&self, caller: &Caller, cluster_id: ClusterId) -> Result<(), Error> {
        let _ = (caller, cluster_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `list_cluster_hosts`.
    pub async fn list_cluster_hosts(
        &self,
        caller: &Caller,
        query: ListClusterHosts,
    ) -> Result<HostList, Error> {
        let _ = (caller, query);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_cluster_supported_platforms`.
    pub async fn get_cluster_supported_platforms(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
    ) -> Result<Vec<PlatformType>, Error> {
        let _ = (caller, cluster_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_cluster_default_config`.
    pub async fn get_cluster_default_config(&self, caller: &Caller) -> Result<ClusterDefaultConfig, Error> {
        let _ = (caller,);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_preflight_requirements`.
    pub async fn get_preflight_requirements(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
    ) -> Result<PreflightHardwareRequirements, Error> {
        let _ = (caller, cluster_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_ignored_validations`.
    pub async fn get_ignored_validations(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
    ) -> Result<IgnoredValidations, Error> {
        let _ = (caller, cluster_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `set_ignored_validations`.
    pub async fn set_ignored_validations(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: IgnoredValidations,
    ) -> Result<IgnoredValidations, Error> {
        let _ = (caller, cluster_id, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_cluster_ui_settings`.
    pub async fn get_cluster_ui_settings(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
    ) -> Result<String, Error> {
        let _ = (caller, cluster_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `update_cluster_ui_settings`.
    pub async fn update_cluster_ui_settings(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        settings: String,
    ) -> Result<String, Error> {
        let _ = (caller, cluster_id, settings);
        Err(Error::internal("not built yet"))
    }
}
