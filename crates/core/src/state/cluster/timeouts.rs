//! Time limits of a cluster's installation, and when they pass (state-machines §3.3, §3.9).

use std::time::Duration;

use assisted_wire::cluster::{Cluster, FinalizingStage};
use assisted_wire::operator::OperatorType;
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use crate::layering;
use crate::model::cluster::ClusterRecord;
use crate::model::deadline;
use crate::policy::{FinalizingStageTimeouts, Policy};
use crate::state::host::limits;

/// How much longer than the checks of its hosts a cluster's preparation may take.
const PREPARATION_MARGIN: Duration = Duration::from_secs(2 * 60);

/// Time limit of the first finalizing stage where limits only warn: the full one would say nothing for hours.
const SOFT_CLUSTER_OPERATORS: Duration = Duration::from_secs(70 * 60);

/// How long a cluster may take to take over the images of its nodes (ocl-day1 §B10.2).
const ADOPTION: Duration = Duration::from_secs(90 * 60);

/// Whether the cluster is to take over the images of its nodes before its installation ends.
fn waits_for_adoption(record: &ClusterRecord) -> bool {
    layering::enabled(record).is_some_and(|settings| settings.waits_for_adoption())
}

/// Whether passed limits only warn: the service and the cluster's organisation must both want that.
pub(crate) fn are_soft(cluster: &Cluster, policy: &Policy) -> bool {
    policy.hosts.enable_soft_timeouts && cluster.org_soft_timeouts_enabled
}

/// Time limit of a cluster's preparation: never shorter than what its hosts may take for their checks.
pub(crate) fn preparation(policy: &Policy) -> Duration {
    let checks = limits::checks(policy);
    policy.timeouts.prepare_for_installation.max(checks.saturating_add(PREPARATION_MARGIN))
}

/// Time limit of a finalizing stage: those that wait for operators last as long as the slowest operator may.
pub(crate) fn of_stage(stage: FinalizingStage, record: &ClusterRecord, policy: &Policy) -> Duration {
    let cluster = &record.cluster;
    let own = policy.finalizing_stages.of(stage);
    if stage == FinalizingStage::WaitingForClusterOperators && waits_for_adoption(record) {
        return own.saturating_add(ADOPTION);
    }
    match stage {
        FinalizingStage::WaitingForClusterOperators if are_soft(cluster, policy) => {
            // A limit that somebody set holds either way.
            let default = FinalizingStageTimeouts::default().waiting_for_cluster_operators;
            if own == default { SOFT_CLUSTER_OPERATORS } else { own }
        }
        FinalizingStage::WaitingForOlmOperatorsCsvInitialization
        | FinalizingStage::WaitingForOlmOperatorsCsv
        | FinalizingStage::WaitingForOLMOperatorSetupJobs => {
            let operators = cluster.monitored_operators.iter().flatten();
            let olm = operators.filter(|each| each.operator_type == Some(OperatorType::Olm));
            let seconds = olm.filter_map(|each| u64::try_from(each.timeout_seconds).ok()).max().unwrap_or(0);
            own.max(Duration::from_secs(seconds))
        }
        _ => own,
    }
}

/// Whether a stage that takes too long only gets an event: what it waits for does not make the cluster unusable.
pub(crate) const fn is_tolerant(stage: FinalizingStage) -> bool {
    matches!(
        stage,
        FinalizingStage::ApplyingOlmManifests
            | FinalizingStage::WaitingForOlmOperatorsCsvInitialization
            | FinalizingStage::WaitingForOlmOperatorsCsv
    )
}

/// The last moment within a limit that began at some moment.
pub(crate) fn end(began: DateTime, limit: Duration) -> Timestamp {
    deadline::after(began.0, limit)
}

/// A limit in whole minutes, as texts show it.
pub(crate) const fn minutes(limit: Duration) -> u64 {
    limit.as_secs() / 60
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::layering::tests::{enabled, layered, objects};
    use crate::validation::testing::facts;

    const fn mins(count: u64) -> Duration {
        Duration::from_secs(count * 60)
    }

    #[test]
    fn preparation_outlasts_the_checks() {
        let mut policy = Policy::default();
        assert_eq!(preparation(&policy), mins(18));
        policy.timeouts.prepare_for_installation = mins(30);
        assert_eq!(preparation(&policy), mins(30));
        policy.hosts.disk_check_timeout = mins(40);
        assert_eq!(preparation(&policy), mins(42));
    }

    #[test]
    fn stages() {
        use FinalizingStage as S;
        let mut facts = facts(0);
        let mut policy = Policy::default();
        let record = facts.cluster.as_mut().unwrap();
        let limits = |record: &ClusterRecord, policy: &Policy| {
            FinalizingStage::ALL
                .iter()
                .map(|stage| minutes(of_stage(*stage, record, policy)))
                .collect::<Vec<_>>()
        };
        assert_eq!(limits(record, &policy), [600, 70, 10, 70, 70, 10, 70]);
        record.cluster.monitored_operators = serde_json::from_value(json!([
            {"name": "console", "operator_type": "builtin", "timeout_seconds": 36_000},
            {"name": "lso", "operator_type": "olm", "timeout_seconds": 4_260},
            {"name": "odd", "operator_type": "olm", "timeout_seconds": -1},
        ]))
        .unwrap();
        assert_eq!(limits(record, &policy), [600, 70, 10, 71, 71, 71, 70]);
        policy.hosts.enable_soft_timeouts = true;
        assert_eq!(
            minutes(of_stage(S::WaitingForClusterOperators, record, &policy)),
            600,
            "both must want it"
        );
        record.cluster.org_soft_timeouts_enabled = true;
        assert_eq!(minutes(of_stage(S::WaitingForClusterOperators, record, &policy)), 70);
        policy.finalizing_stages.waiting_for_cluster_operators = mins(180);
        assert_eq!(minutes(of_stage(S::WaitingForClusterOperators, record, &policy)), 180);
    }

    #[test]
    fn images_are_taken_over_within_the_first_stage() {
        use FinalizingStage as S;
        let policy = Policy::default();
        let limits = |layering: &Value| {
            let facts = layered(layering, &objects());
            let record = facts.cluster.as_ref().unwrap();
            [S::WaitingForClusterOperators, S::AddingRouterCa]
                .map(|stage| minutes(of_stage(stage, record, &policy)))
        };
        assert_eq!(limits(&json!({"mode": "Disabled"})), [600, 70]);
        assert_eq!(limits(&enabled()), [690, 70]);
        assert_eq!(limits(&json!({"mode": "Enabled", "waitForAdoption": false})), [600, 70]);
    }

    #[test]
    fn limits_beyond_the_calendar_never_end() {
        let began = DateTime("2026-01-01T00:00:00Z".parse().unwrap());
        assert_eq!(end(began, Duration::MAX), Timestamp::MAX);
        assert_eq!(end(began, mins(1)).to_string(), "2026-01-01T00:01:00Z");
    }
}
