//! How an installation ends well: with all that was asked for, or with less (state-machines §3.10).

use std::borrow::Cow;

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CompletionParams;
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::operator::{OperatorMonitorReport, OperatorStatus, OperatorType};

use super::status_info as info;
use crate::model::cluster::ClusterRecord;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;

/// Member of a completion report that holds the operators.
const OPERATORS: &str = "CLUSTER_OPERATORS_REPORT";

/// The event of a cluster that is installed.
pub(crate) fn text(cluster: &Cluster, hosts: &[HostFacts]) -> Cow<'static, str> {
    let workers = || hosts.iter().filter(|host| host.effective_role() == HostRole::Worker);
    if let Some(failed) = failed(cluster) {
        format!("{}{failed}", info::DEGRADED).into()
    } else if workers().any(|host| host.record.host.status != HostStatus::Installed) {
        info::WORKERS_MISSING.into()
    } else {
        info::INSTALLED.into()
    }
}

/// The event of operators that failed.
pub(crate) fn degraded(cluster: &Cluster) -> Option<NewEvent> {
    let failed = failed(cluster)?;
    let spec = catalogue::CLUSTER_DEGRADED_OLM_OPERATORS_FAILED;
    Some(spec.of_cluster(cluster.id, &[("failed_operators", &failed)]))
}

/// The operators from the catalogue that failed, as both texts go on; `None`: none did.
fn failed(cluster: &Cluster) -> Option<String> {
    let olm = cluster.monitored_operators.iter().flatten();
    let olm = olm.filter(|each| each.operator_type == Some(OperatorType::Olm));
    let failed = olm.filter(|each| each.status == Some(OperatorStatus::Failed));
    let names: Vec<_> = failed.map(|each| each.name.as_str()).collect();
    (!names.is_empty()).then(|| format!(". Failed OLM operators: {}", names.join(", ")))
}

/// An old controller reports that the installation is complete. That decides nothing; operators with problems get an event.
pub fn reported(record: &ClusterRecord, params: &CompletionParams) -> Option<NewEvent> {
    if params.is_success {
        return None;
    }
    let report = params.data.as_ref()?.get(OPERATORS)?.clone();
    let operators: Vec<OperatorMonitorReport> = serde_json::from_value(report).ok()?;
    let failed = operators.iter().filter(|each| each.status == Some(OperatorStatus::Failed));
    let names: Vec<_> = failed.map(|each| each.name.as_str()).collect();
    let report = names.join(", ");
    Some(catalogue::CLUSTER_OPERATOR_REPORT.of_cluster(record.cluster.id, &[("report", &report)]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::validation::testing::facts;

    #[test]
    fn with_all_or_with_less() {
        let mut facts = facts(4);
        for (host, role) in facts.hosts.iter_mut().zip([
            HostRole::Master,
            HostRole::Master,
            HostRole::Worker,
            HostRole::Worker,
        ]) {
            host.record.host.role = Some(role);
            host.record.host.status = HostStatus::Installed;
        }
        let cluster = &mut facts.cluster.as_mut().unwrap().cluster;
        assert_eq!(text(cluster, &facts.hosts), "Cluster is installed");
        facts.hosts[3].record.host.status = HostStatus::Error;
        assert_eq!(text(cluster, &facts.hosts), "Cluster is installed but some workers did not join");
        assert_eq!(degraded(cluster), None);
        cluster.monitored_operators = serde_json::from_value(json!([
            {"name": "console", "operator_type": "builtin", "status": "failed"},
            {"name": "lso", "operator_type": "olm", "status": "failed"},
            {"name": "odf", "operator_type": "olm", "status": "available"},
            {"name": "cnv", "operator_type": "olm", "status": "failed"},
        ]))
        .unwrap();
        let told = "Cluster is installed but degraded. Failed OLM operators: lso, cnv";
        assert_eq!(text(cluster, &facts.hosts), told);
        assert_eq!(
            degraded(cluster).unwrap().message,
            "Cluster is installed but degraded due to failed OLM operators . Failed OLM operators: lso, cnv"
        );
    }

    #[test]
    fn reports_of_old_controllers() {
        let record = facts(0).cluster.unwrap();
        let tell = |params| reported(&record, &serde_json::from_value(params).unwrap());
        let operators = json!([{"name": "a", "status": "failed"}, {"name": "b", "status": "available"}, {"name": "c", "status": "failed"}]);
        let told = tell(json!({"is_success": false, "data": {OPERATORS: operators}})).unwrap();
        assert_eq!(told.message, "The following operators are experiencing issues: a, c");
        assert_eq!(tell(json!({"is_success": true, "data": {OPERATORS: operators}})), None);
        assert_eq!(tell(json!({"is_success": false})), None);
        assert_eq!(tell(json!({"is_success": false, "data": {OPERATORS: "nonsense"}})), None);
    }
}
