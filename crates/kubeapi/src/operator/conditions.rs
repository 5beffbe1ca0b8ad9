//! What the conditions of an AgentServiceConfig say (kube-api §6.9).

use assisted_crd::agent_install::conditions::agent_service_config as outcomes;
use assisted_crd::common::Condition;
use assisted_crd::condition::{Statement, set};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Condition that tells whether everything was applied.
pub const RECONCILED: &str = "ReconcileCompleted";
/// Condition that tells whether what was applied runs.
pub const HEALTHY: &str = "DeploymentsHealthy";
/// Condition that is there while data is lost with a pod.
pub const PERSISTENT: &str = "DataPersistent";

/// Why an AgentServiceConfig does not run; who wrote it can mend it, or something has to come first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ReconcileError {
    /// Of the condition.
    pub reason: &'static str,
    pub text: String,
}

impl ReconcileError {
    /// A problem with its reason.
    pub fn new(reason: &'static str, text: impl Into<String>) -> Self {
        Self { reason, text: text.into() }
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
        Err(problem) => untrue(RECONCILED, problem.reason, problem.text.clone()),
    };
    set(conditions, reconciled, now);
    if let Some(health) = health {
        let healthy = match health {
            Health::Healthy => outcomes::DEPLOYMENTS_HEALTHY_DEPLOYMENT_SUCCEEDED.with(&[]),
            Health::Unhealthy(text) => untrue(HEALTHY, "DeploymentFailure", text.clone()),
        };
        set(conditions, healthy, now);
    }
    match ephemeral {
        Some(true) => {
            let text = "filesystemStorage is empty: the service keeps its files, and without databaseStorage its database, in \
                        its pod, and loses them with it. Give both a volume to keep them.";
            set(conditions, untrue(PERSISTENT, "EphemeralStorage", text.to_owned()), now);
        }
        Some(false) => conditions.retain(|condition| condition.r#type != PERSISTENT),
        None => {}
    }
}

fn untrue(r#type: &'static str, reason: &'static str, message: String) -> Statement {
    Statement { r#type, status: "False", reason, message, generation: None }
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
        for reason in ["OSImageCACertRefFailure", "ReasonOSImageAdditionalParamsRefFailure"] {
            write(&mut conditions, &Err(ReconcileError::new(reason, "text")), None, None, &now);
            let told = conditions.iter().find(|condition| condition.r#type == RECONCILED).unwrap();
            assert_eq!((told.status.as_str(), told.reason.as_str()), ("False", reason));
        }
    }
}
