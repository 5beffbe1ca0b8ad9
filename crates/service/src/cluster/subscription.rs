//! What the account service keeps and tells of clusters: a subscription from the registration to the end, and what organisations are
//! granted (service-api §14.4, §14.6).

use std::sync::Arc;

use assisted_auth::{Accounts, Capability, SubscriptionChange};
use assisted_base::error::chain;
use assisted_core::admission::precondition::{Operation, check};
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::refusal::Refusal;
use assisted_core::model::topology;
use assisted_store::Deleted;
use assisted_wire::cluster::Cluster;
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::accounts::refused;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_cluster;
use crate::{Caller, Error};

impl Clusters {
    /// Whether an organisation is granted time limits that only warn. What can't be asked is not granted.
    pub(super) async fn has_soft_timeouts(&self, caller: &Caller) -> bool {
        let Some(accounts) = self.access.accounts() else { return true };
        let now = self.database.now();
        let granted =
            Box::pin(accounts.has_capability(&caller.user_name, Capability::SoftTimeouts, now)).await;
        granted.unwrap_or_else(|error| {
            tracing::warn!(error = %chain(&error), "soft time limits can't be asked for: there are none");
            false
        })
    }

    /// Checks that an organisation is granted to ignore validations.
    pub(super) async fn check_may_ignore(&self, caller: &Caller) -> Result<(), Error> {
        let Some(accounts) = self.access.accounts() else { return Ok(()) };
        let now = self.database.now();
        match Box::pin(accounts.has_capability(&caller.user_name, Capability::IgnoreValidations, now)).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(error = %chain(&error), "nobody can say whether validations may be ignored");
            }
        }
        Err(Refusal::invalid("the capability to ignore validations is not available").into())
    }

    /// Has the account service keep a subscription of a cluster that was just registered: its name. Without one there is no cluster
    /// where there is an account service.
    pub(super) async fn subscribed(
        &self,
        caller: &Caller,
        cluster: &Cluster,
    ) -> Result<Option<String>, Error> {
        let Some(accounts) = self.access.accounts() else { return Ok(None) };
        let (id, name) = (cluster.id, cluster.name.clone());
        let (clusters, accounts, caller) = (self.clone(), Arc::clone(accounts), caller.clone());
        // To its end, even if the client goes away meanwhile: a cluster or a subscription would be left over.
        let work =
            tokio::spawn(async move { Box::pin(clusters.subscribe(&accounts, &caller, id, &name)).await });
        work.await.map_err(Error::internal)?.map(Some)
    }

    async fn subscribe(
        &self,
        accounts: &Accounts,
        caller: &Caller,
        id: ClusterId,
        name: &str,
    ) -> Result<String, Error> {
        let now = self.database.now();
        let subscription = match accounts.subscribe(&caller.user_name, id, name, now).await {
            Ok(subscription) => subscription,
            Err(error) => {
                self.take_back(caller, id).await;
                return Err(not_subscribed(id, &chain(&error)));
            }
        };
        let noted = attempt!(self.database, caller, self.note_subscription(caller, id, &subscription));
        if let Err(error) = noted {
            if let Err(error) = accounts.end_reservation(&subscription, now).await {
                tracing::error!(cluster = %id, subscription, error = %chain(&error), "a subscription is left over");
            }
            self.take_back(caller, id).await;
            return Err(not_subscribed(id, &error.to_string()));
        }
        Ok(subscription)
    }

    async fn note_subscription(
        &self,
        caller: &Caller,
        id: ClusterId,
        subscription: &str,
    ) -> Result<(), AttemptError> {
        let mut work = self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let mut record = work.cluster().cloned().ok_or_else(no_cluster)?;
        record.cluster.ams_subscription_id = Some(subscription.to_owned());
        work.put_cluster(record);
        work.commit(&self.database).await?;
        Ok(())
    }

    /// Removes a cluster that nobody is told of.
    async fn take_back(&self, caller: &Caller, id: ClusterId) {
        if let Err(error) = attempt!(self.database, caller, self.try_deregister(caller, id)) {
            tracing::error!(cluster = %id, error = %chain(&error), "a cluster without a subscription is left over");
        }
    }

    /// Tells the account service the new name of a cluster. Only then is the name changed here.
    pub(super) async fn rename_subscription(
        &self,
        before: Option<&ClusterRecord>,
        after: &ClusterRecord,
    ) -> Result<(), Error> {
        let (Some(accounts), Some(before)) = (self.access.accounts(), before) else { return Ok(()) };
        let (name, now) = (&after.cluster.name, self.database.now());
        let Some(subscription) = &after.cluster.ams_subscription_id else { return Ok(()) };
        if before.cluster.name == *name {
            return Ok(());
        }
        let change = SubscriptionChange::DisplayName(name);
        let changed = Box::pin(accounts.change_subscription(subscription, &change, now)).await;
        changed.map_err(|error| refused(&error))
    }

    /// Ends the subscription of a cluster that is about to be removed, if it was never installed. What can't be removed keeps it.
    pub(super) async fn end_subscription(&self, id: ClusterId) -> Result<(), Error> {
        let Some(accounts) = self.access.accounts() else { return Ok(()) };
        let stored = self.database.reader().cluster(id, Deleted::Hidden).await?;
        let Some(cluster) = stored.map(|stored| stored.record.cluster) else { return Ok(()) };
        let Some(subscription) = &cluster.ams_subscription_id else { return Ok(()) };
        if topology::is_day2(&cluster) || check(Operation::Deregister, &cluster).is_err() {
            return Ok(());
        }
        let ended = Box::pin(accounts.end_reservation(subscription, self.database.now())).await;
        ended.map_err(|error| {
            let why = chain(&error);
            Refusal::internal(format!(
                "cluster {id} failed to integrate with AMS on cluster deregistration: {why}"
            ))
            .into()
        })
    }
}

fn not_subscribed(id: ClusterId, why: &str) -> Error {
    Refusal::internal(format!("cluster {id} failed to integrate with AMS on cluster registration: {why}"))
        .into()
}
