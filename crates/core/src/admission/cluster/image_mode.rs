//! Image mode as the API takes it beside the install config (ocl-day1 §B2).

use assisted_wire::on_cluster_layering::LayeringSettings;
use assisted_wire::secret::Secret;

use super::refuse;
use crate::admission::install_config::note_layering;
use crate::catalogue::feature::usage::Usages;
use crate::layering::{self, findings, generated, settings};
use crate::model::cluster::ClusterRecord;
use crate::model::event::{NewEvent, catalogue};
use crate::model::refusal::Refusal;
use crate::policy::Policy;

/// Longest push secret, in bytes.
const LONGEST_SECRET: usize = 64 * 1024;

/// Keeps what is asked for in the place of what was asked for before, and notes it; an object without members takes it back. Returns the
/// event of a cluster that is now to be installed in image mode.
///
/// # Errors
///
/// `Invalid` for what can't be meant, for what the service does not do, and where the overrides of the install config say otherwise.
pub(super) fn apply(
    record: &mut ClusterRecord,
    given: &LayeringSettings,
    policy: &Policy,
) -> Result<Option<NewEvent>, Refusal> {
    let was_enabled = layering::enabled(record).is_some();
    let mut given = given.clone();
    let secret = given.registry.as_mut().and_then(|registry| registry.push_secret.take());
    let asked = settings::of_request(&given).map_err(refuse)?;
    let overridden = layering::overridden(record);
    if let Some(overridden) = &overridden {
        let conflicts = asked.conflicts(overridden);
        if !conflicts.is_empty() {
            return Err(refuse(format!(
                "on_cluster_layering: onClusterLayering in the overrides of the install config says otherwise of {}: set it in one \
                 of the two",
                conflicts.join(", ")
            )));
        }
    }
    settings::together(overridden, Some(asked)).unwrap_or_default().check(policy).map_err(refuse)?;
    match secret {
        Some(secret) => {
            check_secret(&secret)?;
            record.layering.push_secret = secret;
        }
        None if given.registry.is_none() => record.layering.push_secret = Secret::default(),
        None => {}
    }
    record.layering.asked = (given != LayeringSettings::default()).then(|| Box::new(given));
    let enabled = layering::enabled(record);
    let mut usages = Usages::read(&record.cluster.feature_usage);
    note_layering(&mut usages, enabled.as_ref());
    record.cluster.feature_usage = usages.write();
    let is_new = enabled.is_some() && !was_enabled;
    Ok(is_new.then(|| catalogue::OCL_ENABLED.of_cluster(record.cluster.id, &[])))
}

/// An empty one is taken away; any other must hold credentials. What it holds is not quoted.
fn check_secret(secret: &Secret) -> Result<(), Refusal> {
    let wrong = |why: &str| Err(refuse(format!("on_cluster_layering.registry.push_secret {why}")));
    if secret.is_empty() {
        return Ok(());
    }
    if secret.expose().len() > LONGEST_SECRET {
        return wrong("is too long: it may have 64 KiB");
    }
    let read = findings::credentials(&generated::push_secret(secret));
    if read.is_some_and(|auths| !auths.is_empty()) {
        Ok(())
    } else {
        wrong("is no docker config: a JSON object whose member auths has credentials by registry is wanted")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::validation::testing::facts;

    const AUTHS: &str = r#"{"auths":{"r.example.com":{"auth":"dG9wOnNlY3JldA=="}}}"#;

    fn policy() -> Policy {
        let mut policy = Policy::default();
        policy.layering.preview = true;
        policy.layering.allow_generated_mosc = true;
        policy
    }

    fn record() -> ClusterRecord {
        let mut record = facts(0).cluster.clone().unwrap();
        record.cluster.feature_usage = String::new();
        record
    }

    fn ask(record: &mut ClusterRecord, given: Value) -> Result<Option<NewEvent>, Refusal> {
        apply(record, &serde_json::from_value(given).unwrap(), &policy())
    }

    #[test]
    fn what_is_asked_for_is_kept_until_it_is_taken_back() {
        let mut record = record();
        assert!(ask(&mut record, json!({"mode": "Enabled"})).unwrap().is_some());
        assert!(layering::enabled(&record).is_some());
        assert!(record.cluster.feature_usage.contains("ON_CLUSTER_LAYERING"));
        let again = ask(&mut record, json!({"mode": "Enabled", "scratch": "Disk"})).unwrap();
        assert!(again.is_none(), "it is enabled already");
        assert_eq!(layering::enabled(&record).unwrap().scratch(), settings::Scratch::Disk);
        assert!(ask(&mut record, json!({})).unwrap().is_none());
        assert!(record.layering.is_empty() && layering::enabled(&record).is_none());
        assert!(!record.cluster.feature_usage.contains("ON_CLUSTER_LAYERING"));
    }

    #[test]
    fn overrides_that_say_otherwise_are_named() {
        let mut record = record();
        record.cluster.install_config_overrides =
            json!({"onClusterLayering": {"mode": "Enabled", "rollout": "Switch"}}).to_string();
        let told = ask(&mut record, json!({"mode": "Enabled", "rollout": "Deploy"})).unwrap_err();
        assert!(told.reason.contains("otherwise of rollout"), "{}", told.reason);
        assert!(record.layering.is_empty());
        ask(&mut record, json!({"rollout": "Switch", "build_timeout_minutes": 30})).unwrap();
        let both = layering::enabled(&record).unwrap();
        assert_eq!((both.rollout(), both.build_timeout_minutes()), (settings::Rollout::Switch, 30));
        record.cluster.install_config_overrides =
            json!({"onClusterLayering": {"rollout": "Deploy"}}).to_string();
        assert!(layering::enabled(&record).is_none());
        record.layering.asked.as_mut().unwrap().mode = Some("Enabled".to_owned());
        assert_eq!(layering::enabled(&record).unwrap().rollout(), settings::Rollout::Deploy);
    }

    #[test]
    fn what_can_not_be_meant_is_refused_and_changes_nothing() {
        for (wrong, told) in [
            (json!({"mode": "On"}), "unknown variant"),
            (json!({"build_timeout_minutes": 1}), "buildTimeoutMinutes is 1"),
            (json!({"registry": {"port": 6443}}), "registry.port is 6443"),
            (json!({"mode": "Enabled", "machine_os_configs": "Generate"}), "durable push target"),
            (json!({"registry": {"push_secret": "hunter2"}}), "is no docker config"),
            (json!({"registry": {"push_secret": r#"{"auths":{}}"#}}), "is no docker config"),
            (json!({"registry": {"push_secret": "x".repeat(LONGEST_SECRET + 1)}}), "too long"),
        ] {
            let mut record = record();
            let refusal = ask(&mut record, wrong).unwrap_err();
            assert!(
                refusal.reason.contains(told) && !refusal.reason.contains("hunter2"),
                "{}",
                refusal.reason
            );
            assert!(record.layering.is_empty(), "{told}");
        }
        let asked = serde_json::from_value(json!({"mode": "Enabled"})).unwrap();
        let told = apply(&mut record(), &asked, &Policy::default()).unwrap_err();
        assert!(told.reason.contains("OCL_PREVIEW"), "{}", told.reason);
    }

    #[test]
    fn the_push_secret_stays_until_it_or_the_registry_is_taken_away() {
        let mut record = record();
        let registry = |secret: Option<&str>| {
            let mut registry = json!({"type": "External", "push_repository": "r.example.com/acme/os"});
            if let Some(secret) = secret {
                registry["push_secret"] = secret.into();
            }
            json!({"mode": "Enabled", "machine_os_configs": "Generate", "registry": registry})
        };
        ask(&mut record, registry(Some(AUTHS))).unwrap();
        assert_eq!(record.layering.push_secret.expose(), AUTHS);
        let kept = serde_json::to_string(&record.layering.asked).unwrap();
        assert!(!kept.contains("push_secret") && !kept.contains("dG9w"), "{kept}");
        ask(&mut record, registry(None)).unwrap();
        assert_eq!(record.layering.push_secret.expose(), AUTHS);
        ask(&mut record, registry(Some(""))).unwrap();
        assert!(record.layering.push_secret.is_empty());
        ask(&mut record, registry(Some(AUTHS))).unwrap();
        ask(&mut record, json!({"mode": "Disabled"})).unwrap();
        assert!(record.layering.push_secret.is_empty());
    }
}
