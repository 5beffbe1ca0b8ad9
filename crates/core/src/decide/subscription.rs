//! What an account service is told of a cluster while its installation ends: when that is asked for, and what comes of it
//! (service-api §14.6, running §7.5).

use crate::decide::refresh::WorkingCopy;
use crate::model::action::{Action, Attempt, SubscriptionUpdate};
use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::facts::Facts;
use crate::state::cluster::state::INSTALLING;

/// The actions by which the account service is told what a look at the cluster has just asked for.
pub(crate) fn asked_for(before: &Facts, after: &Facts) -> Vec<Action> {
    let Some(record) = &after.cluster else { return Vec::new() };
    let known = before.cluster.as_ref().map(|before| before.subscription).unwrap_or_default();
    let asked = |update: SubscriptionUpdate| {
        let attempt = record.subscription.asked_for(update)?;
        let cluster_id = record.cluster.id;
        (known.asked_for(update) != Some(attempt)).then_some(Action::UpdateSubscription {
            cluster_id,
            attempt,
            update,
        })
    };
    SubscriptionUpdate::ALL.into_iter().filter_map(asked).collect()
}

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
        assert_eq!(asked_for(&before, &facts), [action]);
        assert!(asked_for(&facts, &facts).is_empty(), "it is asked for once");
        let decided = told(&facts, attempt, update).cluster.unwrap();
        assert!(decided.subscription.is_active && !awaits(&decided, attempt, update));
    }
}
