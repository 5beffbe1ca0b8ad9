//! Clusters that nobody touches are deregistered; clusters and hosts that were deregistered long ago are deleted for good.

use assisted_core::model::action::Action;
use assisted_core::model::event::catalogue;
use assisted_store::{Batch, Deleted};
use assisted_wire::id::ClusterId;
use jiff::Timestamp;

use super::{Sweeper, or_log};
use crate::attempt::{AttemptError, retry_on_conflict};

impl Sweeper {
    /// Deregisters clusters that were last changed before, as their users would; returns how many were found.
    pub(super) async fn deregister_inactive_clusters(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<usize, AttemptError> {
        let found = self.database.reader().inactive_clusters(before, limit).await?;
        for id in &found {
            // Whoever changes it meanwhile, such as the scheduler that judges its hosts, does not keep it for that.
            or_log(id, retry_on_conflict!(self.database, self.deregister_inactive(*id, before)));
        }
        Ok(found.len())
    }

    async fn deregister_inactive(&self, id: ClusterId, before: Timestamp) -> Result<(), AttemptError> {
        let Some(mut work) = self.database.load_cluster(id, Deleted::Hidden).await? else { return Ok(()) };
        if work.cluster().is_some_and(|record| record.cluster.updated_at.0 >= before) {
            return Ok(());
        }
        work.events.push(catalogue::AFTER_INACTIVITY_CLUSTER_DEREGISTERED.of_cluster(id, &[]));
        self.clusters.deregister_loaded(work, id).await
    }

    /// Asks for the end of clusters that were deregistered before, and deletes hosts; returns how many were found.
    pub(super) async fn delete_deregistered(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<usize, AttemptError> {
        let clusters = self.database.reader().deregistered_clusters(before, limit).await?;
        let mut batch = Batch::new();
        for cluster_id in &clusters {
            let asked = Action::DeleteCluster { cluster_id: *cluster_id };
            // An earlier sweep has asked for it already; it may wait for its files.
            let queued = self.database.reader().actions(*cluster_id).await?;
            if !queued.iter().any(|queued| queued.action == asked) {
                batch.enqueue(&asked, self.database.now());
            }
        }
        self.database.commit_silently(batch).await?;
        let hosts = self.database.reader().deregistered_hosts(before, limit).await?;
        for (key, version) in &hosts {
            let mut batch = Batch::new();
            batch.purge_host(*key, *version);
            or_log(key.host_id, self.database.commit_silently(batch).await.map_err(AttemptError::from));
        }
        Ok(clusters.len().max(hosts.len()))
    }
}
