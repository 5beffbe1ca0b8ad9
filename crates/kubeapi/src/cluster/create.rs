//! The request that creates a cluster.

use assisted_wire::cluster_params::{
    ClusterCreateParams, CpuArchitecture, HighAvailabilityMode, ImportClusterParams,
};
use uuid::Uuid;

use super::{ClusterSpec, image_mode};
use crate::sync_error::SyncError;
use crate::text::{given, joined};

impl ClusterSpec<'_> {
    /// The request that registers the cluster (kube-api §6.1.6). `version` and `architecture` are those of the release image.
    ///
    /// # Errors
    /// The first field that can't be said in a request.
    pub fn create(
        &self,
        version: &str,
        architecture: Option<CpuArchitecture>,
    ) -> Result<ClusterCreateParams, SyncError> {
        let spec = &self.install.spec;
        let networking = &spec.networking;
        let proxy = spec.proxy.clone().unwrap_or_default();
        Ok(ClusterCreateParams {
            name: self.deployment.spec.cluster_name.clone(),
            base_dns_domain: self.deployment.spec.base_domain.clone(),
            openshift_version: version.to_owned(),
            cpu_architecture: architecture,
            ocp_release_image: self.release_image.clone().unwrap_or_default(),
            pull_secret: self.pull_secret.clone().unwrap_or_default(),
            ssh_public_key: spec.ssh_public_key.trim().to_owned(),
            vip_dhcp_allocation: Some(false),
            api_vips: Some(self.api_vips()?),
            ingress_vips: Some(self.ingress_vips()?),
            cluster_networks: Some(self.cluster_networks()).filter(|list| !list.is_empty()),
            service_networks: Some(self.service_networks()).filter(|list| !list.is_empty()),
            machine_networks: Some(self.machine_networks()).filter(|list| !list.is_empty()),
            network_type: networking.network_type,
            user_managed_networking: Some(self.user_managed_networking()),
            platform: self.platform()?,
            schedulable_masters: spec.masters_schedulable.unwrap_or(false),
            control_plane_count: Some(spec.provision_requirements.control_plane_agents),
            high_availability_mode: self.single_node().then_some(HighAvailabilityMode::None),
            ntp_sources: joined(&spec.ntp_sources),
            hyperthreading: self.hyperthreading(),
            disk_encryption: self.disk_encryption(),
            http_proxy: given(&proxy.http_proxy),
            https_proxy: given(&proxy.https_proxy),
            no_proxy: given(&proxy.no_proxy),
            ignition_endpoint: self.ignition_endpoint.clone(),
            load_balancer: self.load_balancer(),
            on_cluster_layering: image_mode(spec).map(Box::new),
            tags: self.consumer().and_then(given),
            ..ClusterCreateParams::default()
        })
    }

    /// The request that takes in a cluster which others installed. Its hosts are workers that join it.
    ///
    /// # Errors
    /// `Input` when the cluster's own id is not a UUID.
    pub fn import(&self, version: Option<&str>) -> Result<ImportClusterParams, SyncError> {
        let name = &self.deployment.spec.cluster_name;
        let id = self.install.spec.cluster_metadata.as_ref().map(|metadata| metadata.cluster_id.as_str());
        let openshift_cluster_id = match id.filter(|id| !id.is_empty()) {
            None => Uuid::new_v4(),
            Some(id) => id.parse().map_err(|_| {
                SyncError::input(format!(
                    "spec.clusterMetadata.clusterID is {id:?}; it is the UUID of the cluster"
                ))
            })?,
        };
        Ok(ImportClusterParams {
            name: name.clone(),
            api_vip_dnsname: format!("api.{name}.{}", self.deployment.spec.base_domain),
            openshift_version: version.unwrap_or_default().to_owned(),
            openshift_cluster_id,
        })
    }

    /// The cluster is there already, and only takes in further hosts.
    pub fn installed(&self) -> bool {
        self.deployment.spec.installed == Some(true)
    }
}
