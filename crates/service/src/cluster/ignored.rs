//! Validations that a user has chosen to ignore (service-api §4.13).

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::refusal::Refusal;
use assisted_core::validation::ValidationId;
use assisted_store::Deleted;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::cluster::ClusterValidationId;
use assisted_wire::cluster_params::IgnoredValidations;
use assisted_wire::host::HostValidationId;
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::{AttemptError, attempt, final_error};
use crate::not_found::no_cluster;
use crate::{Caller, Error};

/// Stands for every validation that may be ignored.
const ALL: &str = "all";

impl Clusters {
    /// The validations that are ignored.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 400 when the caller's organisation may not ignore any.
    pub async fn get_ignored_validations(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
    ) -> Result<IgnoredValidations, Error> {
        self.check_may_ignore(caller).await?;
        let stored =
            self.database.cached_cluster(cluster_id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        Ok(response(&stored.record))
    }

    /// Replaces both lists; the cluster shows what follows at once.
    ///
    /// # Errors
    ///
    /// 500 when there is no such cluster, 400 in a wrong state, for validations that can't be ignored, or when the caller's organisation
    /// may not ignore any.
    pub async fn set_ignored_validations(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: IgnoredValidations,
    ) -> Result<IgnoredValidations, Error> {
        self.check_may_ignore(caller).await?;
        attempt!(self.database, caller, self.try_set_ignored_validations(caller, cluster_id, &params))
    }

    async fn try_set_ignored_validations(
        &self,
        caller: &Caller,
        id: ClusterId,
        params: &IgnoredValidations,
    ) -> Result<IgnoredValidations, AttemptError> {
        // Not 404 (service-api §20.24).
        let missing = || {
            let reason =
                format!("failed to fetch cluster {id} to apply ignored validations: record not found");
            Refusal::internal(reason)
        };
        let mut work = self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(missing)?;
        work.request_id = Some(caller.request_id);
        let mut record = work.cluster().cloned().ok_or_else(missing)?;
        if !changeable(record.cluster.status) {
            let reason = format!(
                "Cluster {id} is in {} state, cluster can be updated only in one of [insufficient ready pending-for-input adding-hosts]",
                record.cluster.status
            );
            return Err(Refusal::invalid(reason).into());
        }
        let mut problems = check::<ClusterValidationId>(&params.cluster_validation_ids);
        problems.extend(check::<HostValidationId>(&params.host_validation_ids));
        if !problems.is_empty() {
            let reason = format!("cannot proceed due to the following errors: {}", problems.join("\n"));
            return Err(Refusal::invalid(reason).into());
        }
        record.ignored_cluster_validations.clone_from(&params.cluster_validation_ids);
        record.ignored_host_validations.clone_from(&params.host_validation_ids);
        let answer = response(&record);
        work.put_cluster(record);
        work.refresh_and_mark().await?;
        work.commit(&self.database).await?;
        Ok(answer)
    }
}

fn response(record: &ClusterRecord) -> IgnoredValidations {
    IgnoredValidations {
        cluster_validation_ids: record.ignored_cluster_validations.clone(),
        host_validation_ids: record.ignored_host_validations.clone(),
    }
}

fn changeable(status: ClusterStatus) -> bool {
    use ClusterStatus::{AddingHosts, Insufficient, PendingForInput, Ready};
    matches!(status, Insufficient | Ready | PendingForInput | AddingHosts)
}

/// What is wrong with a list of validations.
fn check<Id: ValidationId>(text: &str) -> Vec<String> {
    let kind = Id::KIND;
    if text.is_empty() {
        return Vec::new();
    }
    let Ok(ids) = serde_json::from_str::<Vec<String>>(text) else {
        return vec![format!("error during unmarshal of json for ignored {kind} validations")];
    };
    let mut problems = Vec::new();
    let mut fixed = Vec::new();
    for id in &ids {
        match id.parse::<Id>() {
            Ok(known) if Id::NEVER_IGNORED.contains(&known) => fixed.push(id.as_str()),
            Ok(_) => {}
            Err(_) if id.eq_ignore_ascii_case(ALL) => {}
            Err(_) => problems.push(format!("Validation ID '{id}' is not a known {kind} validation")),
        }
    }
    if !fixed.is_empty() && !ids.iter().any(|id| id == ALL) {
        problems.push(format!("unable to ignore the following {kind} validations ({})", fixed.join(",")));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_ignored() {
        let hosts = check::<HostValidationId>;
        assert!(hosts("").is_empty());
        assert!(hosts(r#"["ntp-synced","ALL"]"#).is_empty());
        assert_eq!(hosts("ntp-synced"), ["error during unmarshal of json for ignored host validations"]);
        assert_eq!(
            hosts(r#"["nonsense","connected","has-inventory"]"#),
            [
                "Validation ID 'nonsense' is not a known host validation",
                "unable to ignore the following host validations (connected,has-inventory)"
            ]
        );
        assert!(hosts(r#"["connected","all"]"#).is_empty());
        let clusters = check::<ClusterValidationId>;
        assert_eq!(
            clusters(r#"["pull-secret-set"]"#),
            ["unable to ignore the following cluster validations (pull-secret-set)"]
        );
    }
}
