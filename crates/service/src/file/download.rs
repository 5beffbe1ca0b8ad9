//! Downloads of what was generated for a cluster and its hosts.

use assisted_blob::{Error as BlobError, Key};
use assisted_core::admission::credentials::{KUBECONFIG, KUBECONFIG_NOINGRESS, check_download};
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;
use assisted_wire::host_params::HostIgnitionParams;
use assisted_wire::id::ClusterId;

use super::Files;
use crate::attempt::final_error;
use crate::generator::ignition_name;
use crate::not_found::no_cluster;
use crate::stored_file::{File, generated_key};
use crate::{Caller, Error};

/// Bytes of a host's Ignition config at most, when it stands inside JSON.
const LARGEST_IGNITION: u64 = 16 << 20;

impl Files {
    /// A file that was generated for a cluster; `file_name` is one of those that the API lists.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 409 in a state without files or when the file is not there.
    pub async fn download_cluster_files(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
        file_name: &str,
    ) -> Result<File, Error> {
        self.cluster_file(cluster_id, file_name).await
    }

    /// The administrator's credentials; the kubeconfig as it was generated until the one with the ingress is there.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 409 in a state without files or when the file is not there.
    pub async fn download_cluster_credentials(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
        file_name: &str,
    ) -> Result<File, Error> {
        match self.cluster_file(cluster_id, file_name).await {
            // Whatever the reason (service-api §7.2).
            Err(_) if file_name == KUBECONFIG => self.cluster_file(cluster_id, KUBECONFIG_NOINGRESS).await,
            file => file,
        }
    }

    async fn cluster_file(&self, cluster_id: ClusterId, name: &str) -> Result<File, Error> {
        let stored =
            self.database.cached_cluster(cluster_id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        check_download(&stored.record.cluster, name, self.database.policy())?;
        match File::open(&self.blob, &generated_key(&stored.record, name)?, name).await {
            Err(BlobError::NotFound(_) | BlobError::Shadowed(_)) => {
                Err(Refusal::conflict(format!("object {cluster_id}/{name} was not found")).into())
            }
            file => Ok(file?),
        }
    }

    /// The Ignition config with which a host boots into its cluster.
    ///
    /// # Errors
    ///
    /// 404 without the host or its cluster, 409 in a state without files, 500 when the config is not there.
    pub async fn download_host_ignition(&self, _: &Caller, host: HostKey) -> Result<File, Error> {
        let (key, name) = self.host_ignition_file(host).await?;
        Ok(File::open(&self.blob, &key, &name).await?)
    }

    /// The same as text.
    ///
    /// # Errors
    ///
    /// As for the download.
    pub async fn get_host_ignition(&self, _: &Caller, host: HostKey) -> Result<HostIgnitionParams, Error> {
        let (key, _) = self.host_ignition_file(host).await?;
        let config = self.blob.get(&key, LARGEST_IGNITION).await?;
        Ok(HostIgnitionParams { config: String::from_utf8(config.into()).map_err(Error::internal)? })
    }

    /// Where the Ignition config of a host is, and its name.
    async fn host_ignition_file(&self, host: HostKey) -> Result<(Key, String), Error> {
        let HostKey { infra_env_id, host_id } = host;
        let missing = || Refusal::not_found(format!("host {host_id} not found in infra env {infra_env_id}"));
        let work = self.database.load_host_alone(host).await.map_err(final_error)?.ok_or_else(missing)?;
        let facts = work.host(host).ok_or_else(missing)?;
        let record = work.cluster().ok_or_else(|| {
            Refusal::not_found(format!("Cluster not found for host {host_id} in infra env {infra_env_id}"))
        })?;
        let name = ignition_name(facts);
        check_download(&record.cluster, &name, self.database.policy())?;
        Ok((generated_key(record, &name)?, name))
    }
}
