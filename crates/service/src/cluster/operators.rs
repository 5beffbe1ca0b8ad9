//! The operators of a cluster: what each means for its hosts, and how they are while it is installed (service-api §9).

use assisted_core::catalogue::operators::find;
use assisted_core::decide::cluster::operators;
use assisted_core::model::facts::Facts;
use assisted_core::model::refusal::Refusal;
use assisted_core::validation::assessment::assess;
use assisted_store::Deleted;
use assisted_wire::id::ClusterId;
use assisted_wire::operator::{MonitoredOperatorsList, OperatorMonitorReport};
use assisted_wire::operator_assessment::OperatorAssessmentList;

use super::Clusters;
use crate::attempt::{attempt, final_error};
use crate::not_found::no_cluster;
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
        let stored = self.database.cached_cluster(cluster_id).await.map_err(final_error)?;
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

    /// What each operator, or the one of a name, means for a cluster, or would mean if the cluster had it.
    ///
    /// # Errors
    ///
    /// 404 without the cluster or the operator.
    pub async fn assess_operators(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
        name: Option<&str>,
    ) -> Result<OperatorAssessmentList, Error> {
        if let Some(name) = name.filter(|name| find(name).is_none()) {
            return Err(Refusal::not_found(format!("operator {name} not found")).into());
        }
        let loaded = self.database.load_cluster(cluster_id, Deleted::Hidden).await.map_err(final_error)?;
        Ok(assess(&loaded.ok_or_else(no_cluster)?.facts, name))
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
