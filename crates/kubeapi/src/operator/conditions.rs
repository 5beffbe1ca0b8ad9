//! What the conditions of an AgentServiceConfig say (kube-api §6.9).

use assisted_crd::agent_install::conditions::agent_service_config as outcomes;
pub(super) use assisted_crd::agent_install::conditions::agent_service_config_failure as reasons;
pub(super) use assisted_crd::agent_install::conditions::hypershift_agent_service_config_failure as hosted_reasons;
use assisted_crd::common::Condition;
use assisted_crd::condition::{Outcome, set};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Why an AgentServiceConfig does not run; who wrote it can mend it, or something has to come first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ReconcileError {
    /// What the condition says, with the text as its message.
    pub outcome: Outcome,
    pub text: String,
}

impl ReconcileError {
    /// A problem, as one of the failures that are listed.
    pub fn new(outcome: Outcome, text: impl Into<String>) -> Self {
        Self { outcome, text: text.into() }
    }
}

/// How the deployments are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    Healthy,
    /// What is not as it should be.
    Unhealthy(String),
}

/// Writes the outcome of a look into the conditions of a status; `None` for what was not looked at.
pub fn write(
    conditions: &mut Vec<Condition>,
    outcome: &Result<(), ReconcileError>,
    health: Option<&Health>,
    ephemeral: Option<bool>,
    now: &Time,
) {
    let reconciled = match outcome {
        Ok(()) => outcomes::RECONCILE_COMPLETED_RECONCILE_SUCCEEDED.with(&[]),
        Err(problem) => problem.outcome.with(&[&problem.text]),
    };
    set(conditions, reconciled, now);
    if let Some(health) = health {
        let healthy = match health {
            Health::Healthy => outcomes::DEPLOYMENTS_HEALTHY_DEPLOYMENT_SUCCEEDED.with(&[]),
            Health::Unhealthy(text) => outcomes::DEPLOYMENTS_HEALTHY_DEPLOYMENT_FAILURE.with(&[text]),
        };
        set(conditions, healthy, now);
    }
    let persistent = outcomes::DATA_PERSISTENT_EPHEMERAL_STORAGE;
    match ephemeral {
        Some(true) => {
            set(conditions, persistent.with(&[]), now);
        }
        // It is there while data is lost with a pod, and only then.
        Some(false) => conditions.retain(|condition| condition.r#type != persistent.r#type),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_is_wrong_is_never_true() {
        let mut conditions = Vec::new();
        let now = Time(Timestamp::UNIX_EPOCH);
        write(&mut conditions, &Ok(()), Some(&Health::Healthy), Some(false), &now);
        assert!(conditions.iter().all(|condition| condition.status == "True"), "{conditions:?}");
        for failure in [reasons::OS_IMAGE_CA_CERT_REF, reasons::OS_IMAGE_ADDITIONAL_PARAMS_REF] {
            write(&mut conditions, &Err(ReconcileError::new(failure, "text")), None, None, &now);
            let told = conditions.iter().find(|condition| condition.r#type == failure.r#type).unwrap();
            assert_eq!((told.status.as_str(), told.reason.as_str()), ("False", failure.reason));
        }
    }
}
