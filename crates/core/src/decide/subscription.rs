//! What an account service is told of a cluster while its installation ends: whether it is still to be told, and that it was
//! (service-api §14.6, running §7.5).

use crate::decide::refresh::WorkingCopy;
use crate::model::action::{Attempt, SubscriptionUpdate};
use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::facts::Facts;
use crate::state::cluster::state::INSTALLING;

/// Whether the account service is still to be told something of an attempt. While the cluster waits for a person, too: it comes
/// back, and does not ask again.
pub fn awaits(record: &ClusterRecord, attempt: Attempt, update: SubscriptionUpdate) -> bool {
    INSTALLING.contains(&record.cluster.status)
        && attempt == record.cluster.install_started_at.0.into()
        && record.subscription.asked_for(update) == Some(attempt)
        && !record.subscription.is_told(update)
}

/// The account service was told something of an attempt.
///
/// Harmless when it is reported twice, when the user has given the attempt up meanwhile, or begun another.
pub fn told(facts: &Facts, attempt: Attempt, update: SubscriptionUpdate) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = draft.facts.cluster.as_mut().filter(|record| awaits(record, attempt, update)) {
        record.subscription.tell(update);
    }
    draft.reconciled()
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster::ClusterStatus;

    use super::*;
    use crate::decide::refresh::subscription_updates_asked_for;
    use crate::model::action::Action;
    use crate::validation::testing::facts;

    #[test]
    fn an_update_is_awaited_until_it_is_told_or_the_attempt_is_over() {
        let mut facts = facts(0).with_cluster(|cluster| cluster.status = ClusterStatus::Finalizing);
        let record = facts.cluster.as_mut().unwrap();
        let attempt = Attempt::from(record.cluster.install_started_at.0);
        let update = SubscriptionUpdate::Active;
        assert!(!awaits(record, attempt, update), "nobody has asked");
        let before = facts.clone();
        let record = facts.cluster.as_mut().unwrap();
        record.subscription.ask(update, attempt);
        let cluster_id = record.cluster.id;
        for status in [ClusterStatus::Finalizing, ClusterStatus::InstallingPendingUserAction] {
            record.cluster.status = status;
            assert!(awaits(record, attempt, update), "{status}");
        }
        for status in [ClusterStatus::Error, ClusterStatus::Cancelled, ClusterStatus::Installed] {
            record.cluster.status = status;
            assert!(!awaits(record, attempt, update), "{status}");
        }
        record.cluster.status = ClusterStatus::Finalizing;
        let action = Action::UpdateSubscription { cluster_id, attempt, update };
        assert_eq!(subscription_updates_asked_for(&before, &facts), [action]);
        assert!(subscription_updates_asked_for(&facts, &facts).is_empty(), "it is asked for once");
        let decided = told(&facts, attempt, update).cluster.unwrap();
        assert!(decided.subscription.is_active && !awaits(&decided, attempt, update));
    }
}
