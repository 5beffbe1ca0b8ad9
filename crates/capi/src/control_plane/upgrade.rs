//! What is done about the version of a running cluster, pure (capi-providers §13).

use assisted_crd::cluster_api::conditions::control_plane as says;
use assisted_crd::condition::Statement;
use assisted_crd::config::cluster_version::{ClusterVersion, Update};

use super::version;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Version of the distribution.
    pub(super) version: &'a str,
    /// Repository of release images, where it is another one.
    pub(super) repository: Option<&'a str>,
    /// The release image by digest; none: it can't be had now.
    pub(super) image: Option<&'a str>,
}

/// What follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UpgradeStatus {
    /// The version that the cluster runs; none: no installation of it is over yet.
    pub(super) current: Option<String>,
    /// What the cluster is told.
    pub(super) update: Option<Update>,
    pub(super) statements: Vec<Statement>,
    /// Whether it has to be looked at again.
    pub(super) is_over: bool,
}

/// Assesses the version of a cluster. `was_upgraded`: whether an upgrade was told before, so that its end is told as well.
pub(super) fn assess(cluster: &ClusterVersion, wanted: &Wanted<'_>, was_upgraded: bool) -> UpgradeStatus {
    let status = cluster.status.clone().unwrap_or_default();
    let current = status.history.iter().find(|entry| entry.state == "Completed");
    let current = current.map(|entry| entry.version.clone());
    let is = |kind: &str, value: &str| {
        status.conditions.iter().any(|condition| condition.r#type == kind && condition.status == value)
    };
    let is_partial =
        status.history.iter().any(|entry| entry.state == "Partial" && entry.completion_time.is_none());
    let in_progress = is_partial || is("Progressing", "True");
    let message = |is_told: &dyn Fn(&str, &str) -> bool| {
        let told = status.conditions.iter().find(|condition| is_told(&condition.r#type, &condition.status));
        told.map(|condition| condition.message.clone()).unwrap_or_default()
    };
    let version = version::plain(wanted.version);
    let mut upgrade_status = UpgradeStatus { current: current.clone(), ..UpgradeStatus::default() };
    // The first version is that of the installation.
    let Some(current) = current else { return upgrade_status };
    if current == version && !in_progress {
        upgrade_status.is_over = true;
        if was_upgraded {
            upgrade_status.statements.push(says::UPGRADE_COMPLETED.with(&[]));
        }
        return upgrade_status;
    }
    let has_failed = is("Failing", "True") || is("ReleaseAccepted", "False") || is("Invalid", "True");
    let update = update(wanted);
    let is_asked =
        status.desired.version == version || update.is_some() && cluster.spec.desired_update == update;
    if !is_asked {
        match update {
            Some(update) => {
                upgrade_status.update = Some(update);
                upgrade_status.statements.push(says::UPGRADE_AVAILABLE.with(&[]));
                upgrade_status.statements.push(says::UPGRADE_PENDING.with(&[version, ""]));
            }
            None => {
                let why = "the release image can't be found out";
                upgrade_status.statements.push(says::UPGRADE_IMAGE_UNAVAILABLE.with(&[why]));
                upgrade_status.statements.push(says::UPGRADE_PENDING.with(&[version, why]));
            }
        }
        return upgrade_status;
    }
    upgrade_status.statements.push(if has_failed {
        let problem = message(&|kind, status| {
            [("Failing", "True"), ("ReleaseAccepted", "False"), ("Invalid", "True")].contains(&(kind, status))
        });
        says::UPGRADE_FAILED.with(&[version, &problem])
    } else if in_progress {
        says::UPGRADE_IN_PROGRESS.with(&[version, &message(&|_, status| status == "True")])
    } else {
        says::UPGRADE_PENDING.with(&[version, &message(&|_, status| status == "True")])
    });
    upgrade_status
}

/// What a cluster is told: a final version of the usual repositories by its number, so that it checks signature and preconditions;
/// everything else by its image, which the update service does not know.
fn update(wanted: &Wanted<'_>) -> Option<Update> {
    let is_usual = wanted.repository.is_none_or(version::is_default_repository);
    if is_usual && version::is_final(wanted.version) {
        let version = version::plain(wanted.version).to_owned();
        return Some(Update { version, ..Update::default() });
    }
    let image = wanted.image?.to_owned();
    Some(Update { image, force: Some(true), ..Update::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cluster(history: &Value, conditions: &Value, desired: &str, update: &Value) -> ClusterVersion {
        let history: Vec<Value> = history
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                let done = entry[1] == "Completed";
                json!({"version": entry[0], "state": entry[1], "startedTime": "2026-01-01T00:00:00Z",
                   "completionTime": if done { json!("2026-01-01T01:00:00Z") } else { Value::Null },
                   "image": "", "verified": false})
            })
            .collect();
        let conditions: Vec<Value> = conditions.as_array().unwrap().iter().map(|entry| {
            json!({"type": entry[0], "status": entry[1], "message": entry[2], "lastTransitionTime": "2026-01-01T00:00:00Z"})
        }).collect();
        serde_json::from_value(json!({
            "metadata": {"name": "version"}, "spec": {"clusterID": "c", "desiredUpdate": update},
            "status": {"history": history, "conditions": conditions, "desired": {"version": desired}},
        }))
        .unwrap()
    }

    fn wanted(version: &str) -> Wanted<'_> {
        Wanted { version, repository: None, image: Some("r/i@sha256:a") }
    }

    fn told(upgrade_status: &UpgradeStatus) -> Vec<(&str, &str)> {
        upgrade_status.statements.iter().map(|told| (told.reason, told.message.as_str())).collect()
    }

    #[test]
    fn an_upgrade_is_asked_for_followed_and_over() {
        let old = json!([["4.20.1", "Completed"]]);
        let idle = json!([["Available", "True", "Done applying 4.20.1"], ["Progressing", "False", ""]]);
        let before = cluster(&old, &idle, "4.20.1", &Value::Null);
        let same = assess(&before, &wanted("4.20.1"), false);
        assert!(same.is_over && same.statements.is_empty() && same.update.is_none());
        assert_eq!(told(&assess(&before, &wanted("4.20.1"), true)), [("UpgradeCompleted", "")]);

        let asks = assess(&before, &wanted("4.20.10"), false);
        assert_eq!(asks.update, Some(Update { version: "4.20.10".to_owned(), ..Update::default() }));
        assert_eq!(told(&asks)[1], ("UpgradePending", "upgrade to version 4.20.10 is pending\n"));
        assert_eq!(asks.current.as_deref(), Some("4.20.1"));
        assert!(!asks.is_over);

        // It is asked for once.
        let asked = cluster(&old, &idle, "4.20.1", &json!({"version": "4.20.10"}));
        let waits = assess(&asked, &wanted("4.20.10"), true);
        assert_eq!(waits.update, None);
        assert_eq!(
            told(&waits),
            [("UpgradePending", "upgrade to version 4.20.10 is pending\nDone applying 4.20.1")]
        );
        let both = json!([["4.20.10", "Partial"], ["4.20.1", "Completed"]]);
        let works = json!([["Progressing", "True", "Working towards 4.20.10: 10% complete"]]);
        let applied = json!({"version": "4.20.10"});
        let works = assess(&cluster(&both, &works, "4.20.10", &applied), &wanted("4.20.10"), true);
        assert_eq!(
            told(&works),
            [(
                "UpgradeInProgress",
                "upgrade to version 4.20.10 in progress\nWorking towards 4.20.10: 10% complete"
            )]
        );
        let silent = assess(&cluster(&both, &json!([]), "4.20.10", &applied), &wanted("4.20.10"), true);
        assert_eq!(told(&silent), [("UpgradeInProgress", "upgrade to version 4.20.10 in progress\n")]);
        let fails = json!([["Failing", "True", "no"], ["Progressing", "True", "still"]]);
        let fails = assess(&cluster(&both, &fails, "4.20.10", &applied), &wanted("4.20.10"), true);
        assert_eq!(told(&fails), [("UpgradeFailed", "upgrade to version 4.20.10 has failed\nno")]);
        let refused = json!([["ReleaseAccepted", "False", "not recommended"]]);
        let refused = assess(&cluster(&old, &refused, "4.20.1", &applied), &wanted("4.20.10"), true);
        assert_eq!(
            told(&refused),
            [("UpgradeFailed", "upgrade to version 4.20.10 has failed\nnot recommended")]
        );
    }

    #[test]
    fn an_installation_is_no_upgrade() {
        let first = cluster(
            &json!([["4.20.1", "Partial"]]),
            &json!([["Progressing", "True", "x"]]),
            "4.20.1",
            &Value::Null,
        );
        let upgrade_status = assess(&first, &wanted("4.20.1"), false);
        assert_eq!(upgrade_status, UpgradeStatus::default());
    }

    #[test]
    fn what_the_update_service_does_not_know_is_told_by_its_image() {
        let image =
            Some(Update { image: "r/i@sha256:a".to_owned(), force: Some(true), version: String::new() });
        let by_version = |version: &str| Some(Update { version: version.to_owned(), ..Update::default() });
        let of = |version, repository| update(&Wanted { repository, ..wanted(version) });
        assert_eq!(of("4.20.2", None), by_version("4.20.2"));
        assert_eq!(of("4.20.2-multi", None), by_version("4.20.2"));
        assert_eq!(of("4.20.2", Some("quay.io/openshift-release-dev/ocp-release")), by_version("4.20.2"));
        assert_eq!(of("4.20.2", Some("registry.example.com/ocp")), image);
        assert_eq!(of("4.21.0-rc.1", None), image);
        assert_eq!(update(&Wanted { image: None, ..wanted("4.21.0-rc.1") }), None);
        let before = cluster(&json!([["4.20.1", "Completed"]]), &json!([]), "4.20.1", &Value::Null);
        let lost = assess(&before, &Wanted { image: None, ..wanted("4.21.0-rc.1") }, false);
        let unavailable =
            ("UpgradeImageUnavailable", "upgrade unavailable: the release image can't be found out");
        assert!(told(&lost).contains(&unavailable), "{:?}", told(&lost));
    }
}
