//! Operators, and what they mean for clusters.

use assisted_wire::id::ClusterId;
use assisted_wire::operation::OperationId;
use assisted_wire::operator_assessment::{OperatorAssessmentList, OperatorDescriptionList};

use crate::{Client, Error};

impl Client {
    /// What is known of each operator, for clusters of a version; `None`: of the newest that the service offers.
    pub async fn list_operators(&self, version: Option<&str>) -> Result<OperatorDescriptionList, Error> {
        self.call(OperationId::ListOperators).query("openshift_version", version).send().await
    }

    /// What each operator, or the one of a name, means for a cluster, or would mean if the cluster had it.
    pub async fn assess_operators(
        &self,
        cluster_id: ClusterId,
        name: Option<&str>,
    ) -> Result<OperatorAssessmentList, Error> {
        let call = self.call(OperationId::AssessClusterOperators).path("cluster_id", cluster_id);
        call.query("operator_name", name).send().await
    }
}
