//! Settings that a user interface keeps with a cluster: text that nobody here reads.

use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::{AttemptError, attempt, final_error};
use crate::not_found::no_cluster;
use crate::{Caller, Error};
use assisted_store::Deleted;

impl Clusters {
    /// The settings; empty when there are none.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn get_ui_settings(&self, _: &Caller, cluster_id: ClusterId) -> Result<String, Error> {
        let stored =
            self.database.cached_cluster(cluster_id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        Ok(stored.record.ui_settings.clone())
    }

    /// Replaces the settings.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn update_ui_settings(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        settings: String,
    ) -> Result<String, Error> {
        attempt!(self.database, caller, self.try_update_ui_settings(cluster_id, &settings))?;
        Ok(settings)
    }

    async fn try_update_ui_settings(&self, id: ClusterId, settings: &str) -> Result<(), AttemptError> {
        let mut work = self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        let mut record = work.cluster().cloned().ok_or_else(no_cluster)?;
        settings.clone_into(&mut record.ui_settings);
        work.put_cluster(record);
        work.commit(&self.database).await?;
        Ok(())
    }
}
