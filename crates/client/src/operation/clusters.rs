//! Operations on clusters.

use assisted_wire::cluster::{Cluster, ClusterDefaultConfig, ClusterList};
use assisted_wire::cluster_params::{
    ClusterCreateParams, ClusterUpdateParams, Credentials, IgnoredValidations, ImportClusterParams,
    PresignedUrl,
};
use assisted_wire::id::ClusterId;
use assisted_wire::mirror_registry::MirrorRegistry;
use assisted_wire::operation::OperationId;
use assisted_wire::platform::PlatformType;
use assisted_wire::requirements::PreflightHardwareRequirements;

use crate::call::{Call, Download};
use crate::{Client, Error};

/// Which clusters a list shows; the default shows all that the caller may see.
#[derive(Clone, Debug, Default)]
pub struct ClusterFilter {
    /// Whether deleted clusters are shown too.
    pub unregistered: bool,
    /// Whether each cluster carries its hosts.
    pub with_hosts: bool,
    /// Id that an installed cluster gave itself.
    pub openshift_cluster_id: Option<String>,
    pub ams_subscription_ids: Vec<String>,
    pub owner: Option<String>,
}

impl Client {
    fn cluster(&self, operation: OperationId, id: ClusterId) -> Call<'_> {
        self.call(operation).path("cluster_id", id)
    }

    pub async fn register_cluster(&self, params: &ClusterCreateParams) -> Result<Cluster, Error> {
        self.call(OperationId::RegisterCluster).json(params).send().await
    }

    pub async fn import_cluster(&self, params: &ImportClusterParams) -> Result<Cluster, Error> {
        self.call(OperationId::ImportCluster).json(params).send().await
    }

    pub async fn list_clusters(&self, filter: &ClusterFilter) -> Result<Vec<Cluster>, Error> {
        let list: ClusterList = self
            .call(OperationId::ListClusters)
            .header("get_unregistered_clusters", filter.unregistered.then_some(true))
            .query("with_hosts", filter.with_hosts.then_some(true))
            .query("openshift_cluster_id", filter.openshift_cluster_id.as_ref())
            .query_list("ams_subscription_ids", &filter.ams_subscription_ids)
            .query("owner", filter.owner.as_ref())
            .send()
            .await?;
        Ok(list.0)
    }

    pub async fn get_cluster(&self, id: ClusterId) -> Result<Cluster, Error> {
        self.cluster(OperationId::GetCluster, id).send().await
    }

    /// The cluster without its hosts.
    pub async fn get_cluster_alone(&self, id: ClusterId) -> Result<Cluster, Error> {
        self.cluster(OperationId::GetCluster, id).query("exclude-hosts", Some(true)).send().await
    }

    pub async fn update_cluster(
        &self,
        id: ClusterId,
        params: &ClusterUpdateParams,
    ) -> Result<Cluster, Error> {
        self.cluster(OperationId::UpdateCluster, id).json(params).send().await
    }

    pub async fn deregister_cluster(&self, id: ClusterId) -> Result<(), Error> {
        self.cluster(OperationId::DeregisterCluster, id).send_empty().await
    }

    pub async fn install_cluster(&self, id: ClusterId) -> Result<Cluster, Error> {
        self.cluster(OperationId::InstallCluster, id).send().await
    }

    pub async fn cancel_installation(&self, id: ClusterId) -> Result<Cluster, Error> {
        self.cluster(OperationId::CancelInstallation, id).send().await
    }

    pub async fn reset_cluster(&self, id: ClusterId) -> Result<Cluster, Error> {
        self.cluster(OperationId::ResetCluster, id).send().await
    }

    /// Lets an installed cluster take further hosts.
    pub async fn transform_cluster_to_adding_hosts(&self, id: ClusterId) -> Result<Cluster, Error> {
        self.cluster(OperationId::TransformClusterToAddingHosts, id).send().await
    }

    pub async fn cluster_default_config(&self) -> Result<ClusterDefaultConfig, Error> {
        self.call(OperationId::GetClusterDefaultConfig).send().await
    }

    pub async fn cluster_supported_platforms(&self, id: ClusterId) -> Result<Vec<PlatformType>, Error> {
        self.cluster(OperationId::GetClusterSupportedPlatforms, id).send().await
    }

    pub async fn preflight_requirements(
        &self,
        id: ClusterId,
    ) -> Result<PreflightHardwareRequirements, Error> {
        self.cluster(OperationId::GetPreflightRequirements, id).send().await
    }

    pub async fn ignored_validations(&self, id: ClusterId) -> Result<IgnoredValidations, Error> {
        self.cluster(OperationId::GetIgnoredValidations, id).send().await
    }

    pub async fn set_ignored_validations(
        &self,
        id: ClusterId,
        ignored: &IgnoredValidations,
    ) -> Result<IgnoredValidations, Error> {
        self.cluster(OperationId::SetIgnoredValidations, id).json(ignored).send().await
    }

    /// Registries that stand in for others for the cluster alone.
    pub async fn cluster_mirror_registry(&self, id: ClusterId) -> Result<MirrorRegistry, Error> {
        self.cluster(OperationId::GetClusterMirrorRegistry, id).send().await
    }

    pub async fn set_cluster_mirror_registry(
        &self,
        id: ClusterId,
        mirrors: &MirrorRegistry,
    ) -> Result<MirrorRegistry, Error> {
        self.cluster(OperationId::SetClusterMirrorRegistry, id).json(mirrors).send().await
    }

    /// The cluster's install-config, as YAML.
    pub async fn cluster_install_config(&self, id: ClusterId) -> Result<String, Error> {
        self.cluster(OperationId::GetClusterInstallConfig, id).send().await
    }

    /// Sets overrides (JSON text) of the install-config.
    pub async fn update_cluster_install_config(&self, id: ClusterId, overrides: &str) -> Result<(), Error> {
        self.cluster(OperationId::UpdateClusterInstallConfig, id).json(overrides).send_empty().await
    }

    /// Name, password and console address of the installed cluster's first administrator.
    pub async fn cluster_credentials(&self, id: ClusterId) -> Result<Credentials, Error> {
        self.cluster(OperationId::GetCredentials, id).send().await
    }

    /// A file made for the cluster, such as `bootstrap.ign` or `metadata.json`.
    pub async fn download_cluster_file(&self, id: ClusterId, file_name: &str) -> Result<Download, Error> {
        self.cluster(OperationId::DownloadClusterFiles, id)
            .query("file_name", Some(file_name))
            .download()
            .await
    }

    /// What the hosts and the controller of the cluster have sent of their logs: an archive (tar.gz).
    pub async fn download_cluster_logs(&self, id: ClusterId) -> Result<Download, Error> {
        self.cluster(OperationId::DownloadClusterLogs, id).query("logs_type", Some("all")).download().await
    }

    /// Everything that the cluster would be installed with: an archive (tar). Takes as long as generating does.
    pub async fn render_cluster(&self, id: ClusterId) -> Result<Download, Error> {
        self.cluster(OperationId::RenderCluster, id).download().await
    }

    /// A file with credentials, such as `kubeconfig`.
    pub async fn download_cluster_credentials(
        &self,
        id: ClusterId,
        file_name: &str,
    ) -> Result<Download, Error> {
        let call = self.cluster(OperationId::DownloadClusterCredentials, id);
        call.query("file_name", Some(file_name)).download().await
    }

    /// Address from which a credential file can be fetched for a while without a token.
    pub async fn cluster_credentials_url(
        &self,
        id: ClusterId,
        file_name: &str,
    ) -> Result<PresignedUrl, Error> {
        let call = self.cluster(OperationId::GetPresignedForClusterCredentials, id);
        call.query("file_name", Some(file_name)).send().await
    }
}
