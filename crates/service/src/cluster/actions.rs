//! What is still to be done for a cluster, for people.

use assisted_wire::action::{PendingAction, PendingActionList};
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::final_error;
use crate::not_found::no_cluster;
use crate::{Caller, Error};

impl Clusters {
    /// What the service still has to do for a cluster, in order, and what it failed with.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn list_actions(&self, _: &Caller, id: ClusterId) -> Result<PendingActionList, Error> {
        self.database.cached_cluster(id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        let actions = self.database.reader().actions(id).await?.into_iter().map(|asked| PendingAction {
            action: asked.action.name().to_owned(),
            asked_at: asked.asked_at.into(),
            attempts: asked.attempts.into(),
            last_error: asked.last_error,
        });
        Ok(PendingActionList(actions.collect()))
    }
}
