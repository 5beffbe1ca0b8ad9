//! Clusters are registered (service-api §4.2, §4.10).

use assisted_core::admission::NewObject;
use assisted_core::admission::cluster::{Created, create, disconnected, import};
use assisted_store::Due;
use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::cluster_params::{
    ClusterCreateParams, DisconnectedClusterCreateParams, ImportClusterParams,
};
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::{AttemptError, attempt};
use crate::owner::owner;
use crate::unit_of_work::UnitOfWork;
use crate::{Caller, Error};

impl Clusters {
    /// Registers a cluster.
    ///
    /// # Errors
    ///
    /// 400 with the first rule that the request breaks, 500 when an account service does not take the cluster.
    pub async fn register(&self, caller: &Caller, params: ClusterCreateParams) -> Result<Cluster, Error> {
        // On the heap: it may wait for the account service with a whole cluster in hand.
        Box::pin(self.register_subscribed(caller, &params)).await
    }

    async fn register_subscribed(
        &self,
        caller: &Caller,
        params: &ClusterCreateParams,
    ) -> Result<Cluster, Error> {
        let mut created = create(params, &self.available.policy(), &self.new_cluster(caller))?;
        created.record.cluster.org_soft_timeouts_enabled = self.has_soft_timeouts(caller).await;
        let mut work = attempt!(self.database, caller, self.insert_cluster(caller, &created))?;
        let subscription = self.subscribed(caller, &created.record.cluster).await?;
        if let Some(record) = &mut work.facts.cluster {
            record.cluster.ams_subscription_id = subscription;
        }
        Self::response(&work)
    }

    /// Registers an existing cluster, so that hosts can be added to it.
    ///
    /// # Errors
    ///
    /// 400 when its name can't be used.
    pub async fn import(&self, caller: &Caller, params: ImportClusterParams) -> Result<Cluster, Error> {
        let created = import(&params, &self.new_cluster(caller))?;
        attempt!(self.database, caller, self.insert_cluster(caller, &created))?;
        Ok(created.record.cluster)
    }

    /// Registers a cluster that is installed without a connection.
    ///
    /// # Errors
    ///
    /// 400 without a name or a version.
    pub async fn register_disconnected(
        &self,
        caller: &Caller,
        params: DisconnectedClusterCreateParams,
    ) -> Result<Cluster, Error> {
        let created = disconnected(&params, &self.new_cluster(caller))?;
        attempt!(self.database, caller, self.insert_cluster(caller, &created))?;
        Ok(created.record.cluster)
    }

    pub(super) fn new_cluster(&self, caller: &Caller) -> NewObject<ClusterId> {
        NewObject { id: ClusterId::random(), now: self.database.now(), owner: owner(caller) }
    }

    pub(super) async fn insert_cluster(
        &self,
        caller: &Caller,
        created: &Created,
    ) -> Result<UnitOfWork, AttemptError> {
        let mut work = self.database.blank_work();
        work.request_id = Some(caller.request_id);
        work.put_cluster(created.record.clone());
        work.events.extend(created.events.iter().cloned());
        if created.record.cluster.status != ClusterStatus::Unmonitored {
            work.batch.mark_due(Due::Cluster(created.record.cluster.id), work.facts.now);
        }
        let facts = work.commit(&self.database).await?;
        Ok(UnitOfWork::new(facts))
    }
}
