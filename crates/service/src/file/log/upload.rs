//! Uploads of logs.

use std::io;

use assisted_blob::{Error as BlobError, Key};
use assisted_core::decide::cluster::controller_logs as cluster_logs;
use assisted_core::decide::host::logs as host_logs;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_store::Deleted;
use assisted_wire::cluster::LogsType;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::on_cluster_layering::Pool;
use bytes::Bytes;
use futures::{Stream, StreamExt};

use super::{UploadLogs, build_key, cluster_key, host_key, no_build};
use crate::attempt::{AttemptError, attempt, final_error};
use crate::file::Files;
use crate::not_found::no_cluster;
use crate::not_found::no_host;
use crate::{Caller, Error};

/// Bytes of an upload at most.
pub(super) const LARGEST: u64 = 262_144_000;

impl Files {
    /// Keeps logs in place of earlier ones. An error of the stream with the kind `InvalidData` is the client's.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster or host, 400 for logs of no host, and for those that are too large or broken off; 507
    /// when all logs take as much room as they may.
    pub async fn upload_logs<S>(&self, caller: &Caller, upload: UploadLogs, content: S) -> Result<(), Error>
    where
        S: Stream<Item = io::Result<Bytes>> + Send,
    {
        let UploadLogs { cluster_id, logs_type, infra_env_id, host_id } = upload;
        if logs_type == LogsType::Host {
            let host_id = host_id.ok_or_else(|| {
                Refusal::invalid("cluster_id and host_id are required for upload host logs")
            })?;
            let host = self.host_of(cluster_id, infra_env_id, host_id).await?;
            self.keep_logs(cluster_id, &host_key(cluster_id, host_id)?, content).await?;
            return attempt!(self.database, caller, self.record_host_logs(caller, host));
        }
        if logs_type == LogsType::Empty {
            return Err(Refusal::invalid("logs_type is required").into());
        }
        self.database.cached_cluster(cluster_id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        self.keep_logs(cluster_id, &cluster_key(cluster_id, logs_type)?, content).await?;
        if logs_type != LogsType::Controller {
            return Ok(());
        }
        let note = |facts: &Facts| Ok(cluster_logs::uploaded(facts));
        attempt!(self.database, caller, self.database.decide(caller, cluster_id, &note)).map(drop)
    }

    /// Keeps the logs of the build of a pool's image in place of earlier ones.
    ///
    /// # Errors
    ///
    /// 404 without the cluster, and for a pool of which no build was reported; otherwise as for [other logs](Self::upload_logs).
    pub async fn upload_build_logs<S>(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
        pool: &str,
        content: S,
    ) -> Result<(), Error>
    where
        S: Stream<Item = io::Result<Bytes>> + Send,
    {
        let pool = self.built_pool(cluster_id, pool).await?;
        self.keep_logs(cluster_id, &build_key(cluster_id, pool)?, content).await
    }

    async fn built_pool(&self, cluster_id: ClusterId, pool: &str) -> Result<Pool, Error> {
        let work = self.database.load_cluster(cluster_id, Deleted::Hidden).await.map_err(final_error)?;
        let work = work.ok_or_else(no_cluster)?;
        let builds = work.cluster().map(|record| record.layering.builds.as_slice()).unwrap_or_default();
        let build = builds.iter().find(|build| build.pool.as_str() == pool);
        Ok(build.ok_or_else(|| no_build(cluster_id))?.pool)
    }

    async fn host_of(
        &self,
        cluster_id: ClusterId,
        infra_env_id: Option<InfraEnvId>,
        host_id: HostId,
    ) -> Result<HostKey, Error> {
        let work = self
            .database
            .load_cluster(cluster_id, Deleted::Hidden)
            .await
            .map_err(final_error)?
            .ok_or_else(no_cluster)?;
        let mut keys = work.facts.hosts.iter().map(assisted_core::model::facts::HostFacts::key);
        let found = keys.find(|key| {
            key.host_id == host_id && infra_env_id.is_none_or(|infra_env_id| key.infra_env_id == infra_env_id)
        });
        let missing = || Refusal::not_found(format!("Host {host_id} was not found in cluster {cluster_id}"));
        Ok(found.ok_or_else(missing)?)
    }

    async fn keep_logs(
        &self,
        cluster_id: ClusterId,
        key: &Key,
        content: impl Stream<Item = io::Result<Bytes>> + Send,
    ) -> Result<(), Error> {
        let refused = |message: String| Err(Error::Infra { kind: RefusalKind::Invalid, message });
        let replaced = self.blob.metadata(key).await?.map_or(0, |object| object.size);
        let mut arriving = self.log_room.admit(&self.blob, replaced).await?;
        let mut no_room = false;
        let content = content.map(|piece: io::Result<Bytes>| -> io::Result<Bytes> {
            let piece = piece?;
            no_room = !arriving.take(piece.len() as u64);
            if no_room { Err(io::ErrorKind::QuotaExceeded.into()) } else { Ok(piece) }
        });
        let put = self.blob.put_stream(key, content, LARGEST).await;
        match put {
            Ok(_) => {
                self.keep_of_known(cluster_id, key).await?;
                arriving.keep();
                Ok(())
            }
            Err(_) if no_room => Err(self.log_room.refusal()),
            Err(BlobError::TooLarge { limit, .. }) => {
                refused(format!("upfile in formData should be at most {limit} bytes long"))
            }
            Err(BlobError::Io { source, .. }) if source.kind() == io::ErrorKind::InvalidData => {
                refused(source.to_string())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes logs whose cluster was deleted for good while they came.
    async fn keep_of_known(&self, cluster_id: ClusterId, key: &Key) -> Result<(), Error> {
        if self.database.reader().cluster(cluster_id, Deleted::Shown).await?.is_none() {
            self.blob.delete(key).await?;
            return Err(no_cluster().into());
        }
        Ok(())
    }

    async fn record_host_logs(&self, caller: &Caller, key: HostKey) -> Result<(), AttemptError> {
        let mut work = self.database.load_host_alone(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(|| no_host(key))?;
        let outcome = host_logs::uploaded(host, work.facts.now);
        work.merge(outcome);
        work.mark_due();
        work.commit(&self.database).await?;
        Ok(())
    }
}
