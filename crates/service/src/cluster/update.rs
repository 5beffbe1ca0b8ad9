//! A cluster is changed (service-api §4.4).

use assisted_core::admission::cluster::update;
use assisted_store::Deleted;
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::ClusterUpdateParams;
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_cluster;
use crate::unit_of_work::UnitOfWork;
use crate::{Caller, Error};

impl Clusters {
    /// Changes a cluster; it and its hosts show what follows at once.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 400 with the first rule that the request breaks, 409 in a wrong state, or when the names in a
    /// managed domain are taken; 503 when its DNS server can't be asked, or an account service that is to be told its new name.
    pub async fn update(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: ClusterUpdateParams,
    ) -> Result<Cluster, Error> {
        // Of many at once all but one would decide in vain, again and again, until the last ones are refused.
        let _turn = self.changes.lock_soon(Some(cluster_id)).await;
        let work = attempt!(self.database, caller, Box::pin(self.try_update(caller, cluster_id, &params)))?;
        Self::response(&work)
    }

    async fn try_update(
        &self,
        caller: &Caller,
        id: ClusterId,
        params: &ClusterUpdateParams,
    ) -> Result<UnitOfWork, AttemptError> {
        let mut work = self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let infra_envs: Vec<_> = work
            .facts
            .infra_envs
            .values()
            .filter(|record| record.infra_env.cluster_id == Some(id))
            .cloned()
            .collect();
        let updated = update(&work.facts, &infra_envs, params)?;
        if params.name.is_some() || params.base_dns_domain.is_some() {
            self.dns.check(&updated.record).await?;
        }
        self.rename_subscription(work.cluster(), &updated.record).await?;
        work.put_cluster(updated.record);
        work.events.extend(updated.events);
        if updated.reset_roles {
            work.reset_suggested_roles();
        }
        work.refresh_and_mark().await?;
        let facts = work.commit(&self.database).await?;
        Ok(UnitOfWork::new(facts))
    }
}
