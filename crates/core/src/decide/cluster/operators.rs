//! The controller reports how an operator of the new cluster is (service-api §9).

use std::fmt::Display;

use assisted_wire::operator::OperatorMonitorReport;

use crate::decide::refresh::WorkingCopy;
use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::Facts;
use crate::model::refusal::Refusal;
use crate::state::cluster::progress;

/// Records what is reported of an operator: what is not reported stays. The cluster's progress follows.
///
/// # Errors
///
/// `Invalid` without a name, `NotFound` when the cluster has no such operator.
pub fn report(facts: &Facts, report: &OperatorMonitorReport) -> Result<Decision, Refusal> {
    if report.name.is_empty() {
        return Err(Refusal::invalid("empty operator name is not allowed"));
    }
    let unknown = || Refusal::not_found(format!("operator {} not found", report.name));
    let mut draft = WorkingCopy::new(facts);
    let cluster = &mut draft.facts.cluster.as_mut().ok_or_else(unknown)?.cluster;
    let mut operators = cluster.monitored_operators.iter_mut().flatten();
    let operator = operators.find(|operator| operator.name == report.name).ok_or_else(unknown)?;
    if report.status.is_some() {
        operator.status = report.status;
    }
    if !report.status_info.is_empty() {
        operator.status_info.clone_from(&report.status_info);
    }
    if !report.version.is_empty() {
        operator.version.clone_from(&report.version);
    }
    operator.status_updated_at = facts.now.into();
    let status: &dyn Display = match &operator.status {
        Some(status) => status,
        None => &"",
    };
    let values: &[(&str, &dyn Display)] =
        &[("operator_name", &operator.name), ("status", status), ("status_info", &operator.status_info)];
    draft.events.push(catalogue::CLUSTER_OPERATOR_STATUS.of_cluster(cluster.id, values));
    progress::finalize(cluster);
    Ok(draft.reconciled())
}
