//! Tells the account service what becomes of a cluster of which it keeps a subscription (service-api §14.6).

use std::io;

use assisted_auth::{AskError, SubscriptionChange};
use assisted_base::error::chain;
use assisted_base::failpoint;
use assisted_core::admission::credentials::console_address;
use assisted_core::decide::install::Generated;
use assisted_core::decide::subscription::{awaits, told};
use assisted_core::model::action::{Attempt, SubscriptionUpdate};
use assisted_core::model::facts::Facts;
use assisted_core::model::refusal::Refusal;
use assisted_store::{Deleted, QueuedAction};
use assisted_wire::id::ClusterId;

use super::Actions;
use crate::Error;
use crate::generator::GenerateError;

impl Actions {
    /// Tells the account service what an attempt to install has come to. It is tried until it succeeds, or until the attempt is over:
    /// the installation does not end before.
    pub(super) async fn update_subscription(
        &self,
        asked: &QueuedAction,
        id: ClusterId,
        attempt: Attempt,
        update: SubscriptionUpdate,
    ) -> Result<(), Error> {
        let stored = self.database.reader().cluster(id, Deleted::Hidden).await?;
        let record = stored.map(|stored| stored.record).filter(|record| awaits(record, attempt, update));
        let Some(cluster) = record.map(|record| record.cluster) else {
            return self.finish_action(asked).await;
        };
        let Some(subscription) = &cluster.ams_subscription_id else { return self.finish_action(asked).await };
        let url = console_address(&cluster);
        let change = match update {
            SubscriptionUpdate::ConsoleUrl => SubscriptionChange::ConsoleUrl(&url),
            SubscriptionUpdate::Active => SubscriptionChange::Active,
        };
        self.tell(subscription, &change).await.map_err(Refusal::internal)?;
        self.decide(id, Some(asked), |facts| told(facts, attempt, update)).await
    }

    /// Tells the account service which id a cluster will have whose files were generated. Otherwise its preparation has failed.
    pub(super) async fn tell_cluster_id(
        &self,
        facts: &Facts,
        generated: Generated,
    ) -> Result<Generated, GenerateError> {
        let record = facts.cluster.as_ref();
        let subscription = record.and_then(|record| record.cluster.ams_subscription_id.as_deref());
        let (Some(subscription), Some(id)) = (subscription, generated.openshift_cluster_id) else {
            return Ok(generated);
        };
        let change = SubscriptionChange::OpenshiftClusterId(id);
        Box::pin(self.tell(subscription, &change)).await.map_err(GenerateError::Refused)?;
        Ok(generated)
    }

    /// Changes a subscription, as a step of the action; nothing is to be done where no account service is asked any more.
    async fn tell(&self, subscription: &str, change: &SubscriptionChange<'_>) -> Result<(), String> {
        let Some(accounts) = &self.accounts else { return Ok(()) };
        let broken = |error: io::Error| chain(&error);
        let failed = |error: AskError| chain(&error);
        let step = failpoint::begin(|| "tell the account service".to_owned()).map_err(broken)?;
        accounts.change_subscription(subscription, change, self.database.now()).await.map_err(failed)?;
        step.end().map_err(broken)
    }
}
