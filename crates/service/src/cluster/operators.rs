//! The operators of a cluster that is being installed, as its controller follows them (service-api §9).

use assisted_core::decide::cluster::operators;
use assisted_core::model::facts::Facts;
use assisted_core::model::refusal::Refusal;
use assisted_wire::id::ClusterId;
use assisted_wire::operator::{MonitoredOperatorsList, OperatorMonitorReport};

use super::Clusters;
use crate::fault::{attempt, broken};
use crate::{Caller, Error};

impl Clusters {
    /// The operators of a cluster, or the one of a name. A cluster that does not exist has none.
    ///
    /// # Errors
    ///
    /// 404 when there is no operator of the name.
    pub async fn list_operators(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
        name: Option<&str>,
    ) -> Result<MonitoredOperatorsList, Error> {
        let stored = self.database.known_cluster(cluster_id).await.map_err(broken)?;
        let operators = stored.iter().flat_map(|stored| &stored.record.cluster.monitored_operators).flatten();
        let wanted = operators.filter(|operator| name.is_none_or(|name| operator.name == name));
        let found: Vec<_> = wanted.cloned().collect();
        match name {
            Some(name) if found.is_empty() => {
                Err(Refusal::not_found(format!("operator {name} not found")).into())
            }
            _ => Ok(MonitoredOperatorsList(found)),
        }
    }

    /// Notes how an operator is.
    ///
    /// # Errors
    ///
    /// 400 without a name, 404 without the cluster or the operator.
    pub async fn report_monitored_operator_status(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        report: OperatorMonitorReport,
    ) -> Result<(), Error> {
        let report = |facts: &Facts| Ok(operators::report(facts, &report)?);
        attempt!(self.database, caller, self.database.decide(caller, cluster_id, &report)).map(drop)
    }
}
