//! Deletes files that no longer mean anything.

use assisted_base::error::chain;
use assisted_store::{Batch, Deleted, QueuedAction};
use assisted_wire::id::ClusterId;

use super::Actions;
use crate::Error;
use crate::stored_file::manifest;
use crate::stored_file::{key, root};

impl Actions {
    /// Deletes what was generated for a cluster: everything but users' manifests and logs.
    pub(super) async fn delete_generated(&self, id: ClusterId) -> Result<(), Error> {
        manifest::delete_generated(&self.blob, id).await?;
        for (key, _) in self.blob.list(&root(id)?).await? {
            let kept = ["manifests", "manifest-attributes", "logs"];
            let folder = key.as_str().split('/').nth(1).unwrap_or_default();
            if !kept.contains(&folder) {
                self.blob.delete(&key).await?;
            }
        }
        Ok(())
    }

    /// Deletes a cluster that was deregistered, for good. Its files go first: as long as one is left, so is the cluster.
    pub(super) async fn delete_cluster(&self, asked: &QueuedAction, id: ClusterId) -> Result<(), Error> {
        let stored = self.database.reader().cluster(id, Deleted::Shown).await?;
        let mut batch = Batch::new();
        let is_deregistered = stored.is_some_and(|stored| stored.record.cluster.deleted_at.is_some());
        if is_deregistered {
            let files = self.blob.delete_all(&root(id)?).await?;
            batch.delete_cluster(id);
            tracing::info!(cluster = %id, files, "a deregistered cluster is deleted for good");
        }
        self.finish_action_with(asked, batch).await?;
        if is_deregistered && let Err(error) = self.blob.delete_all(&root(id)?).await {
            // Of an upload that ended meanwhile: one that ends later finds no cluster, and deletes what it brought.
            tracing::warn!(cluster = %id, error = %chain(&error), "files of a deleted cluster may be left");
        }
        Ok(())
    }

    /// Deletes the logs of an earlier installation.
    pub(super) async fn delete_logs(&self, id: ClusterId) -> Result<(), Error> {
        self.blob.delete_all(&key(id, "logs")?).await?;
        Ok(())
    }
}
