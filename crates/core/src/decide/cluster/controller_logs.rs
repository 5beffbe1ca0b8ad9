//! Logs of the cluster's controller: how far their collection is (state-machines §3.11).

use assisted_wire::cluster::LogsState;

use crate::decide::refresh::WorkingCopy;
use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::Facts;

/// The controller reports how far the collection of logs is.
pub fn progress(facts: &Facts, state: LogsState) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        record.cluster.logs_info = Some(state);
        if state == LogsState::Requested {
            record.cluster.controller_logs_started_at = facts.now.into();
        }
    }
    draft.reconciled()
}

/// The controller's logs were stored.
pub fn uploaded(facts: &Facts) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        if record.cluster.controller_logs_collected_at.is_zero() {
            draft.events.push(catalogue::CLUSTER_LOGS_UPLOADED.of_cluster(record.cluster.id, &[]));
        }
        record.cluster.controller_logs_collected_at = facts.now.into();
        record.cluster.logs_info = Some(LogsState::Collecting);
    }
    draft.reconciled()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing;

    #[test]
    fn told_and_stored() {
        let mut facts = testing::facts(0);
        let asked = progress(&facts, LogsState::Requested).cluster.unwrap();
        assert_eq!(asked.cluster.logs_info, Some(LogsState::Requested));
        assert_eq!(asked.cluster.controller_logs_started_at.0, facts.now);
        facts.cluster = Some(asked);
        let stored = uploaded(&facts);
        assert_eq!(stored.events.iter().filter(|event| event.name == "cluster_logs_uploaded").count(), 1);
        let record = stored.cluster.unwrap();
        assert_eq!(record.cluster.logs_info, Some(LogsState::Collecting));
        facts.cluster = Some(record);
        assert!(
            uploaded(&facts).events.iter().all(|event| event.name != "cluster_logs_uploaded"),
            "told once"
        );
    }
}
