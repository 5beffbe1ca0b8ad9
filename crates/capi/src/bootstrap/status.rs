//! The status of a config: what Cluster API waits for, and what people read.

use assisted_crd::cluster_api::common::V1Beta1Condition;
use assisted_crd::cluster_api::conditions::config;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::{
    OpenshiftAssistedConfigStatus, OpenshiftAssistedConfigStatusInitialization,
};
use assisted_crd::condition::{Statement, find, set};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::objects;

/// What is said about a config; what is not said stays as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// Whether there is bootstrap data, or why not.
    pub(super) data: Option<Statement>,
    /// Whether the host is as it should be.
    pub(super) host: Option<Statement>,
    /// Why nothing is done for now.
    pub(super) paused: Option<String>,
    /// Name of the Secret with the bootstrap data, once it is there.
    pub(super) secret: Option<String>,
    /// Generation that all this is about; none where it was not looked at as a whole.
    pub(super) generation: Option<i64>,
}

/// Reasons that are more than information.
fn severity(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "InfraEnvFailed" | "CreatingSecretFailed" => "Warning",
        "InvalidConfiguration" => "Error",
        _ => return None,
    })
}

/// The status that says this.
pub(super) fn status(
    before: Option<&OpenshiftAssistedConfigStatus>,
    shown: &Shown,
    generation: Option<i64>,
    now: &Time,
) -> OpenshiftAssistedConfigStatus {
    let mut status = before.cloned().unwrap_or_default();
    let mut say = |statement: Statement| {
        let of_now = Statement { generation, ..statement.clone() };
        set(&mut status.conditions, of_now, now);
        if !["Paused", "HostConfigured"].contains(&statement.r#type) {
            let kind = statement.r#type;
            let weight = severity(statement.reason);
            set_old(&mut status.v1beta1_conditions, statement, weight, kind, now);
        }
    };
    if let Some(data) = &shown.data {
        let ready = if data.status == "True" {
            config::READY.with(&[])
        } else {
            config::NOT_READY.with(&[&data.message])
        };
        say(data.clone());
        say(Statement { reason: if data.status == "True" { ready.reason } else { data.reason }, ..ready });
    }
    if let Some(host) = &shown.host {
        say(host.clone());
    }
    say(match &shown.paused {
        Some(why) => config::PAUSED.with(&[why]),
        None => config::NOT_PAUSED.with(&[]),
    });
    if let Some(secret) = &shown.secret {
        status.data_secret_name.clone_from(secret);
        status.initialization =
            Some(OpenshiftAssistedConfigStatusInitialization { data_secret_created: Some(true) });
    }
    if shown.generation.is_some() {
        status.observed_generation = shown.generation;
    }
    objects::sort(&mut status.conditions);
    status.v1beta1_conditions.sort_by_key(|condition| objects::order(&condition.r#type));
    status
}

fn set_old(
    conditions: &mut Vec<V1Beta1Condition>,
    statement: Statement,
    weight: Option<&str>,
    kind: &str,
    now: &Time,
) {
    set(conditions, statement, now);
    if let Some(weight) = weight
        && let Some(condition) = conditions.iter_mut().find(|condition| condition.r#type == kind)
        && condition.status == "False"
    {
        weight.clone_into(&mut condition.severity);
    }
}

/// Whether the bootstrap data was told to be there.
pub(super) fn is_created(status: Option<&OpenshiftAssistedConfigStatus>) -> bool {
    let initialization = status.and_then(|status| status.initialization.as_ref());
    initialization.and_then(|initialization| initialization.data_secret_created) == Some(true)
        && status.is_some_and(|status| find(&status.conditions, "DataSecretAvailable").is_some())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn both_contracts_are_told() {
        let now = Time(Timestamp::UNIX_EPOCH);
        let waiting = Shown {
            data: Some(config::WAITING_FOR_INFRASTRUCTURE.with(&[])),
            generation: Some(2),
            ..Shown::default()
        };
        let status_of = |before: Option<&OpenshiftAssistedConfigStatus>, shown: &Shown| {
            status(before, shown, Some(2), &now)
        };
        let waits = status_of(None, &waiting);
        assert!(!is_created(Some(&waits)) && waits.data_secret_name.is_empty());
        let kinds: Vec<_> = waits.conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(kinds, ["Ready", "DataSecretAvailable", "Paused"]);
        let old: Vec<_> = waits
            .v1beta1_conditions
            .iter()
            .map(|condition| {
                (condition.r#type.as_str(), condition.reason.as_str(), condition.severity.as_str())
            })
            .collect();
        assert_eq!(
            old,
            [
                ("Ready", "WaitingForClusterInfrastructure", "Info"),
                ("DataSecretAvailable", "WaitingForClusterInfrastructure", "Info"),
            ]
        );
        let failed = Shown { data: Some(config::INFRA_ENV_FAILED.with(&["no"])), ..Shown::default() };
        let fails = status_of(Some(&waits), &failed);
        assert_eq!(fails.v1beta1_conditions[1].severity, "Warning");
        assert_eq!(fails.observed_generation, Some(2));
        let created = Shown {
            data: Some(config::DATA_SECRET_AVAILABLE.with(&[])),
            secret: Some("data".to_owned()),
            ..Shown::default()
        };
        let done = status_of(Some(&fails), &created);
        assert!(is_created(Some(&done)));
        assert_eq!(done.data_secret_name, "data");
        assert_eq!(done.conditions[0].status, "True");
        assert_eq!(done.v1beta1_conditions[0].severity, "");
        // A pause says nothing else.
        let pauses = status_of(Some(&done), &Shown { paused: Some("why".to_owned()), ..Shown::default() });
        assert!(is_created(Some(&pauses)));
        assert_eq!(find(&pauses.conditions, "Paused").unwrap().message, "why");
    }
}
