//! What objects show of a cluster in each of its states.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

fn cluster(fields: &Value) -> Cluster {
    let mut cluster = json!({
        "kind": "Cluster", "id": "11111111-1111-4111-8111-111111111111", "href": "", "name": "demo",
        "status": "ready", "status_info": "info", "image_info": {},
        "validations_info": json!({"network": [
            {"id": "b", "status": "failure", "message": "second"}, {"id": "a", "status": "pending", "message": "first"},
            {"id": "c", "status": "success", "message": "fine"},
        ]}).to_string(),
    });
    cluster.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap());
    serde_json::from_value(cluster).unwrap()
}

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

fn seen<'a>(cluster: Option<&'a Cluster>, counts: &'a Counts) -> Observed<'a> {
    let wanted = Roles { masters: 3, arbiters: 0, workers: 0 };
    Observed {
        cluster,
        problem: None,
        held: false,
        wanted,
        counts,
        events_url: "events",
        logs_url: None,
        images: None,
    }
}

fn ready() -> Counts {
    Counts { known: Roles { masters: 3, arbiters: 0, workers: 0 }, approved: 3, unsynced: 0 }
}

/// Status, reason and message of a condition.
fn condition_of<'a>(status: &'a AgentClusterInstallStatus, kind: &str) -> (&'a str, &'a str, &'a str) {
    let condition = status.conditions.iter().find(|condition| condition.r#type == kind).unwrap();
    (&condition.status, &condition.reason, &condition.message)
}

#[test]
fn each_status_of_a_cluster_is_told() {
    for (state, requirements, validated, completed, failed, stopped) in [
        (
            "insufficient",
            "False ClusterNotReady",
            "False ValidationsFailing",
            "False InstallationNotStarted",
            "False InstallationNotFailed",
            "False InstallationNotStopped",
        ),
        (
            "pending-for-input",
            "False ClusterNotReady",
            "False ValidationsUserPending",
            "False InstallationNotStarted",
            "False InstallationNotFailed",
            "False InstallationNotStopped",
        ),
        (
            "ready",
            "True ClusterIsReady",
            "True ValidationsPassing",
            "False InstallationNotStarted",
            "False InstallationNotFailed",
            "False InstallationNotStopped",
        ),
        (
            "preparing-for-installation",
            "True ClusterAlreadyInstalling",
            "True ValidationsPassing",
            "False InstallationInProgress",
            "False InstallationNotFailed",
            "False InstallationNotStopped",
        ),
        (
            "installing",
            "True ClusterAlreadyInstalling",
            "True ValidationsPassing",
            "False InstallationInProgress",
            "False InstallationNotFailed",
            "False InstallationNotStopped",
        ),
        (
            "installing-pending-user-action",
            "True ClusterAlreadyInstalling",
            "True ValidationsPassing",
            "False InstallationInProgress",
            "False InstallationNotFailed",
            "False InstallationNotStopped",
        ),
        (
            "finalizing",
            "True ClusterAlreadyInstalling",
            "True ValidationsPassing",
            "False InstallationInProgress",
            "False InstallationNotFailed",
            "False InstallationNotStopped",
        ),
        (
            "installed",
            "True ClusterInstallationStopped",
            "True ValidationsPassing",
            "True InstallationCompleted",
            "False InstallationNotFailed",
            "True InstallationCompleted",
        ),
        (
            "adding-hosts",
            "True ClusterAlreadyInstalling",
            "True ValidationsPassing",
            "True InstallationCompleted",
            "False InstallationNotFailed",
            "True InstallationCompleted",
        ),
        (
            "error",
            "True ClusterInstallationStopped",
            "True ValidationsPassing",
            "False InstallationFailed",
            "True InstallationFailed",
            "True InstallationFailed",
        ),
        (
            "cancelled",
            "Unknown UnknownStatus",
            "True ValidationsPassing",
            "Unknown UnknownStatus",
            "False InstallationNotFailed",
            "True InstallationCancelled",
        ),
    ] {
        let (cluster, counts) = (cluster(&json!({"status": state})), ready());
        let status = status(None, &seen(Some(&cluster), &counts), &at(1));
        for (kind, expected) in [
            ("RequirementsMet", requirements),
            ("Validated", validated),
            ("Completed", completed),
            ("Failed", failed),
            ("Stopped", stopped),
        ] {
            let (value, reason, _) = condition_of(&status, kind);
            assert_eq!(format!("{value} {reason}"), expected, "{state} {kind}");
        }
        assert_eq!(condition_of(&status, "SpecSynced").1, "SyncOK");
        assert_eq!(status.debug_info.unwrap().state, state);
    }
}

#[test]
fn what_is_missing_is_counted_and_failures_stand_in_order() {
    let cluster_ready = cluster(&json!({}));
    let mut counts = ready();
    counts.known.masters = 2;
    let shown = status(None, &seen(Some(&cluster_ready), &counts), &at(1));
    assert_eq!(condition_of(&shown, "RequirementsMet").1, "InsufficientAgents");
    let preparation = "LastInstallationPreparationFailed";
    let never = "Cluster preparation has never been performed for this cluster";
    assert_eq!(condition_of(&shown, preparation), ("False", never, ""));
    let last = json!({"last-installation-preparation": {"status": "failed", "reason": "away"}});
    let failed = status(None, &seen(Some(&cluster(&last)), &counts), &at(1));
    assert_eq!(
        condition_of(&failed, preparation),
        ("True", "The last installation preparation failed", "away")
    );
    assert_eq!(
        condition_of(&shown, "RequirementsMet").2,
        "The cluster currently requires exactly 3 master agents, 0 arbiter agents and 0 worker agents, but currently \
         registered 2 master agents, 0 arbiter agents and 0 worker agents"
    );
    let counts = Counts { unsynced: 1, ..ready() };
    let shown = status(None, &seen(Some(&cluster_ready), &counts), &at(1));
    assert_eq!(condition_of(&shown, "RequirementsMet").1, "UnsyncedAgents");
    let counts = Counts { approved: 1, ..ready() };
    let shown = status(None, &seen(Some(&cluster_ready), &counts), &at(1));
    assert_eq!(condition_of(&shown, "RequirementsMet").1, "UnapprovedAgents");
    assert_eq!(
        condition_of(&shown, "RequirementsMet").2,
        "The installation is pending on the approval of 2 agents"
    );
    let held = Observed { held: true, ..seen(Some(&cluster_ready), &counts) };
    assert_eq!(condition_of(&status(None, &held, &at(1)), "Completed").1, "InstallationOnHold");

    let insufficient = cluster(&json!({"status": "insufficient"}));
    let shown = status(None, &seen(Some(&insufficient), &counts), &at(1));
    assert_eq!(condition_of(&shown, "Validated").2, "The cluster's validations are failing: first,second");
    let unjudged = cluster(&json!({"status": "insufficient", "validations_info": ""}));
    let shown = status(None, &seen(Some(&unjudged), &counts), &at(1));
    assert_eq!(condition_of(&shown, "Validated").1, "ValidationsUnknown");
}

#[test]
fn nothing_changes_where_nothing_is_new_and_a_lost_cluster_is_told() {
    let (cluster, counts) = (cluster(&json!({})), ready());
    let mut seen = seen(Some(&cluster), &counts);
    let first = status(None, &seen, &at(1));
    seen.events_url = "tomorrow's";
    assert_eq!(status(Some(&first), &seen, &at(2)), first);

    let problem = SyncError::backend("away");
    let lost = Observed { cluster: None, problem: Some(&problem), ..seen };
    let shown = status(Some(&first), &lost, &at(3));
    for kind in ["RequirementsMet", "Validated", "Completed", "Failed", "Stopped"] {
        assert_eq!(condition_of(&shown, kind), ("Unknown", "NotAvailable", "Information not available"));
    }
    assert_eq!(shown.debug_info, Some(DebugInfo::default()));
    assert_eq!(
        condition_of(&shown, "SpecSynced"),
        ("False", "BackendError", "The Spec could not be synced due to backend error: away")
    );
}

#[test]
fn images_of_nodes_are_told_in_image_mode_alone() {
    let (cluster, counts) = (cluster(&json!({"status": "installing"})), ready());
    let plain = status(None, &seen(Some(&cluster), &counts), &at(1));
    assert!(find(&plain.conditions, "OnClusterLayering").is_none());
    let shown = |before: &AgentClusterInstallStatus, state: &str, info: &str| {
        let images: LayeringState = serde_json::from_value(json!({
            "enabled": true, "registry_type": "Embedded", "rollout": "Deploy", "status": state, "status_info": info, "adopted": false,
        }))
        .unwrap();
        let seen = Observed { images: Some(&images), ..seen(Some(&cluster), &counts) };
        status(Some(before), &seen, &at(2))
    };
    for (state, expected) in [
        ("pending", "False Pending"),
        ("building", "False Building"),
        ("ready", "True Ready"),
        ("adopting", "True Ready"),
        ("adopted", "True Adopted"),
        ("failed", "False Failed"),
    ] {
        let shown = shown(&plain, state, "RUN exits with 1");
        let (value, reason, message) = condition_of(&shown, "OnClusterLayering");
        assert_eq!((format!("{value} {reason}").as_str(), message), (expected, "RUN exits with 1"));
    }
    // Whoever switches it off sees that it is off.
    let on = shown(&plain, "pending", "");
    let off = status(Some(&on), &seen(Some(&cluster), &counts), &at(3));
    assert_eq!(condition_of(&off, "OnClusterLayering").1, "Disabled");
}
