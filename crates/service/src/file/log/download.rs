//! Downloads of logs, also those of deleted clusters.

use assisted_blob::{Error as BlobError, Key};
use assisted_core::model::refusal::Refusal;
use assisted_store::Deleted;
use assisted_wire::cluster::LogsType;
use assisted_wire::id::ClusterId;
use assisted_wire::on_cluster_layering::Pool;

use super::{DownloadLogs, build_key, cluster_key, host_key, no_build, plain, stem};
use crate::attempt::final_error;
use crate::file::Files;
use crate::not_found::no_cluster;
use crate::stored_file::File;
use crate::unit_of_work::UnitOfWork;
use crate::{Caller, Error};

impl Files {
    /// The logs of one host, of the controller, or all of them in one archive.
    ///
    /// # Errors
    ///
    /// 404 without cluster, host or file, 400 for logs of no host, 409 when there are none yet.
    pub async fn download_cluster_logs(&self, _: &Caller, query: DownloadLogs) -> Result<File, Error> {
        let DownloadLogs { cluster_id, logs_type, host_id } = query;
        let work = self.cluster_with_logs(cluster_id).await?;
        let cluster = &work.cluster().ok_or_else(no_cluster)?.cluster;
        match logs_type {
            Some(LogsType::Host) => {
                let host_id = host_id
                    .ok_or_else(|| Refusal::invalid("Host ID must be provided for downloading host logs"))?;
                let host = work.facts.hosts.iter().find(|host| host.record.host.id == host_id);
                let host = host.ok_or_else(|| {
                    Refusal::not_found(format!("Host {host_id} was not found in cluster {cluster_id}"))
                })?;
                if host.record.host.logs_collected_at.is_zero() {
                    return Err(Refusal::conflict(format!("Logs for host {host_id} were not found")).into());
                }
                let name = format!("{}.tar.gz", stem(&cluster.name, host));
                self.open_logs(&host_key(cluster_id, host_id)?, &name, query).await
            }
            Some(LogsType::Controller) => {
                if cluster.controller_logs_collected_at.is_zero() {
                    let reason = format!("Controller Logs for cluster {cluster_id} were not found");
                    return Err(Refusal::conflict(reason).into());
                }
                let name = format!("{}_{cluster_id}_controller.tar.gz", plain(&cluster.name));
                self.open_logs(&cluster_key(cluster_id, LogsType::Controller)?, &name, query).await
            }
            _ => Box::pin(self.bundle_logs(&work)).await,
        }
    }

    /// The logs of the build of a pool's image.
    ///
    /// # Errors
    ///
    /// 404 without the cluster, for what is no pool, and while there are none.
    pub async fn download_build_logs(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
        pool: &str,
    ) -> Result<File, Error> {
        let work = self.cluster_with_logs(cluster_id).await?;
        let cluster = &work.cluster().ok_or_else(no_cluster)?.cluster;
        let pool: Pool = pool.parse().map_err(|_| no_build(cluster_id))?;
        let name = format!("{}_{cluster_id}_os-image-{pool}.tar.gz", plain(&cluster.name));
        match File::open(&self.blob, &build_key(cluster_id, pool)?, &name).await {
            Err(BlobError::NotFound(_) | BlobError::Shadowed(_)) => {
                let reason = format!(
                    "Logs of the OS image build of pool {pool} of cluster {cluster_id} were not found"
                );
                Err(Refusal::not_found(reason).into())
            }
            file => Ok(file?),
        }
    }

    /// A deleted cluster has its deleted hosts, one that lives has not.
    async fn cluster_with_logs(&self, id: ClusterId) -> Result<UnitOfWork, Error> {
        if let Some(work) = self.database.load_cluster(id, Deleted::Hidden).await.map_err(final_error)? {
            return Ok(work);
        }
        let work = self.database.load_cluster(id, Deleted::Shown).await.map_err(final_error)?;
        work.ok_or_else(|| no_cluster().into())
    }

    async fn open_logs(&self, key: &Key, name: &str, query: DownloadLogs) -> Result<File, Error> {
        match File::open(&self.blob, key, name).await {
            Err(BlobError::NotFound(_) | BlobError::Shadowed(_)) => {
                let kind = query.logs_type.map_or("all", |kind| kind.as_str());
                let reason = format!("Logs of type {kind} for cluster {} were not found", query.cluster_id);
                Err(Refusal::not_found(reason).into())
            }
            file => Ok(file?),
        }
    }
}
