//! What an Agent shows (kube-api §6.4.7, §7.2).

use assisted_crd::agent_install::agent::{AgentStatus, HostNtpSource, HostProgress};
use assisted_crd::agent_install::conditions::agent as conditions;
use assisted_crd::condition::{Statement, set};
use assisted_wire::host::{Host, HostRole, HostStatus};
use assisted_wire::inventory::Inventory;
use assisted_wire::time::DateTime;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

use super::inventory;
use crate::controllers::hub::whole_seconds;
use crate::controllers::validations;
use crate::sync_error::{Class, SyncError};

/// What the status is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    /// The host, unless it is lost.
    pub(super) host: Option<&'a Host>,
    pub(super) inventory: Option<&'a Inventory>,
    /// Whether somebody has approved it.
    pub(super) approved: bool,
    /// What stands in the way of what the object says.
    pub(super) problem: Option<&'a SyncError>,
    /// Where events and logs are found; for hosts of clusters.
    pub(super) events_url: Option<&'a str>,
    pub(super) logs_url: Option<&'a str>,
}

/// A source of time, as hosts are stored with it.
#[derive(Deserialize)]
struct Source {
    #[serde(default)]
    source_name: String,
    #[serde(default)]
    source_state: String,
}

/// The status that the object is to show; `before` is the one that it shows.
pub(super) fn status(before: Option<&AgentStatus>, seen: &Observed<'_>, now: &Time) -> AgentStatus {
    let mut status = before.cloned().unwrap_or_default();
    let mut statements = vec![spec_synced(seen.problem)];
    match seen.host {
        None => {
            let debug = status.debug_info.get_or_insert_default();
            debug.state.clear();
            debug.state_info.clear();
            statements.extend(
                [
                    conditions::INSTALLED_NOT_AVAILABLE,
                    conditions::CONNECTED_NOT_AVAILABLE,
                    conditions::REQUIREMENTS_MET_NOT_AVAILABLE,
                    conditions::VALIDATED_NOT_AVAILABLE,
                    conditions::BOUND_NOT_AVAILABLE,
                ]
                .map(|outcome| outcome.with(&[])),
            );
        }
        Some(host) => {
            fill(&mut status, seen, host);
            statements.extend([
                connected(host),
                requirements_met(host, seen.approved),
                validated(host),
                installed(host),
                bound(host),
            ]);
        }
    }
    for statement in statements {
        set(&mut status.conditions, statement, now);
    }
    status
}

/// Whether what the object says has come to the host.
pub(super) fn spec_synced(problem: Option<&SyncError>) -> Statement {
    match problem {
        None => conditions::SPEC_SYNCED_OK.with(&[]),
        Some(SyncError { class: Class::Input, text }) => conditions::SPEC_SYNCED_INPUT_ERROR.with(&[text]),
        Some(SyncError { class: Class::Backend, text }) => {
            conditions::SPEC_SYNCED_BACKEND_ERROR.with(&[text])
        }
    }
}

fn fill(status: &mut AgentStatus, seen: &Observed<'_>, host: &Host) {
    status.bootstrap = host.bootstrap.then_some(true);
    let role = host.role.filter(|role| *role != HostRole::AutoAssign).or(host.suggested_role).or(host.role);
    status.role = role.map(|role| role.as_str().to_owned()).unwrap_or_default();
    status.kind = host.kind.as_str().to_owned();
    status.installation_disk_id.clone_from(&host.installation_disk_id);
    if let Some(known) = seen.inventory {
        status.inventory = Some(inventory::shown(known));
    }
    let sources: Vec<Source> = serde_json::from_str(&host.ntp_sources).unwrap_or_default();
    let source =
        |source: Source| HostNtpSource { source_name: source.source_name, source_state: source.source_state };
    status.ntp_sources = sources.into_iter().map(source).collect();
    let results = validations::read(&host.validations_info);
    if !results.is_empty() {
        status.validations_info = results;
    }
    status.progress = progress(host);
    let debug = status.debug_info.get_or_insert_default();
    host.status.as_str().clone_into(&mut debug.state);
    debug.state_info.clone_from(&host.status_info);
    // Written once: their tokens change from day to day.
    for (shown, url) in [(&mut debug.events_url, seen.events_url), (&mut debug.logs_url, seen.logs_url)] {
        if let Some(url) = url.filter(|_| shown.is_empty()) {
            url.clone_into(shown);
        }
    }
}

fn progress(host: &Host) -> Option<HostProgress> {
    let progress = host.progress.as_ref()?;
    let stage = progress.current_stage?;
    let time = |at: DateTime| (!at.is_zero()).then(|| whole_seconds(at.0));
    Some(HostProgress {
        current_stage: stage.as_str().to_owned(),
        installation_percentage: Some(progress.installation_percentage),
        progress_info: progress.progress_info.clone(),
        progress_stages: host
            .progress_stages
            .iter()
            .flatten()
            .map(|stage| stage.as_str().to_owned())
            .collect(),
        stage_start_time: time(progress.stage_started_at),
        stage_update_time: time(progress.stage_updated_at),
    })
}

fn connected(host: &Host) -> Statement {
    match host.status {
        HostStatus::Disconnected | HostStatus::DisconnectedUnbound => {
            conditions::CONNECTED_AGENT_IS_DISCONNECTED.with(&[])
        }
        _ => conditions::CONNECTED_AGENT_IS_CONNECTED.with(&[]),
    }
}

fn requirements_met(host: &Host, approved: bool) -> Statement {
    use HostStatus::{
        AddedToExistingCluster, Binding, Disconnected, DisconnectedUnbound, Discovering, DiscoveringUnbound,
        Error, Installed, Installing, InstallingInProgress, InstallingPendingUserAction, Insufficient,
        InsufficientUnbound, Known, KnownUnbound, PendingForInput, PreparingForInstallation,
        PreparingSuccessful, Unbinding, UnbindingPendingUserAction,
    };
    match host.status {
        Binding => conditions::REQUIREMENTS_MET_BINDING.with(&[]),
        Unbinding | UnbindingPendingUserAction => conditions::REQUIREMENTS_MET_UNBINDING.with(&[]),
        Known | KnownUnbound if approved => conditions::REQUIREMENTS_MET_AGENT_IS_READY.with(&[]),
        Known | KnownUnbound => conditions::REQUIREMENTS_MET_AGENT_IS_NOT_APPROVED.with(&[]),
        Insufficient | InsufficientUnbound | Disconnected | DisconnectedUnbound | Discovering
        | DiscoveringUnbound | PendingForInput => conditions::REQUIREMENTS_MET_AGENT_NOT_READY.with(&[]),
        PreparingForInstallation
        | PreparingSuccessful
        | Installing
        | InstallingInProgress
        | InstallingPendingUserAction => conditions::REQUIREMENTS_MET_AGENT_ALREADY_INSTALLING.with(&[]),
        Installed | Error | AddedToExistingCluster => {
            conditions::REQUIREMENTS_MET_AGENT_INSTALLATION_STOPPED.with(&[])
        }
        other => conditions::REQUIREMENTS_MET_UNKNOWN_STATUS.with(&[other.as_str()]),
    }
}

fn validated(host: &Host) -> Statement {
    use HostStatus::{
        Binding, Insufficient, InsufficientUnbound, PendingForInput, Unbinding, UnbindingPendingUserAction,
    };
    let results = validations::read(&host.validations_info);
    let failing = || validations::messages(&results, |status| status != "success" && status != "disabled");
    match host.status {
        Binding => conditions::VALIDATED_BINDING.with(&[]),
        Unbinding | UnbindingPendingUserAction => conditions::VALIDATED_UNBINDING.with(&[]),
        Insufficient | InsufficientUnbound => conditions::VALIDATED_VALIDATIONS_FAILING.with(&[&failing()]),
        PendingForInput => conditions::VALIDATED_VALIDATIONS_USER_PENDING.with(&[&failing()]),
        _ if results.is_empty() => conditions::VALIDATED_VALIDATIONS_UNKNOWN.with(&[]),
        _ => conditions::VALIDATED_VALIDATIONS_PASSING.with(&[]),
    }
}

fn installed(host: &Host) -> Statement {
    use HostStatus::{
        AddedToExistingCluster, Binding, Disconnected, DisconnectedUnbound, Discovering, DiscoveringUnbound,
        Error, Installed, Installing, InstallingInProgress, InstallingPendingUserAction, Insufficient,
        InsufficientUnbound, Known, KnownUnbound, PendingForInput, PreparingForInstallation,
        PreparingSuccessful, Unbinding, UnbindingPendingUserAction,
    };
    let info = host.status_info.as_str();
    match host.status {
        Binding => conditions::INSTALLED_BINDING.with(&[]),
        Unbinding | UnbindingPendingUserAction => conditions::INSTALLED_UNBINDING.with(&[]),
        Installed | AddedToExistingCluster => conditions::INSTALLED_INSTALLATION_COMPLETED.with(&[info]),
        Error => conditions::INSTALLED_INSTALLATION_FAILED.with(&[info]),
        Insufficient | InsufficientUnbound | Disconnected | DisconnectedUnbound | Discovering
        | DiscoveringUnbound | Known | KnownUnbound | PendingForInput => {
            conditions::INSTALLED_INSTALLATION_NOT_STARTED.with(&[])
        }
        PreparingForInstallation
        | PreparingSuccessful
        | Installing
        | InstallingInProgress
        | InstallingPendingUserAction => conditions::INSTALLED_INSTALLATION_IN_PROGRESS.with(&[info]),
        other => conditions::INSTALLED_UNKNOWN_STATUS.with(&[other.as_str()]),
    }
}

fn bound(host: &Host) -> Statement {
    use HostStatus::{
        Binding, DisabledUnbound, DisconnectedUnbound, DiscoveringUnbound, InsufficientUnbound, KnownUnbound,
        Unbinding, UnbindingPendingUserAction,
    };
    match host.status {
        Binding => conditions::BOUND_BINDING.with(&[]),
        Unbinding => conditions::BOUND_UNBINDING.with(&[]),
        UnbindingPendingUserAction => conditions::BOUND_UNBINDING_PENDING_USER_ACTION.with(&[]),
        DisconnectedUnbound | KnownUnbound | InsufficientUnbound | DisabledUnbound | DiscoveringUnbound => {
            conditions::BOUND_UNBOUND.with(&[])
        }
        _ => conditions::BOUND_BOUND.with(&[]),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn host(status: &str) -> Host {
        let at = "2024-01-01T00:00:00.000Z";
        let results = json!({"hardware": [
            {"id": "b", "status": "failure", "message": "second"}, {"id": "a", "status": "error", "message": "first"},
            {"id": "c", "status": "disabled", "message": "nobody asks"},
        ]});
        serde_json::from_value(json!({
            "kind": "Host", "id": "33333333-3333-4333-8333-333333333333", "href": "", "status": status,
            "status_info": "info", "role": "auto-assign", "suggested_role": "master", "created_at": at,
            "updated_at": at, "validations_info": results.to_string(),
            "progress": {"current_stage": "Writing image to disk", "installation_percentage": 40,
                         "stage_started_at": at, "stage_updated_at": at},
        }))
        .unwrap()
    }

    fn seen(host: Option<&Host>) -> Observed<'_> {
        Observed {
            host,
            inventory: None,
            approved: true,
            problem: None,
            events_url: Some("events"),
            logs_url: None,
        }
    }

    fn now(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn condition_of(status: &AgentStatus, kind: &str) -> String {
        let condition = status.conditions.iter().find(|condition| condition.r#type == kind).unwrap();
        format!("{} {}", condition.status, condition.reason)
    }

    #[test]
    fn each_status_of_a_host_is_told() {
        let started = "False InstallationNotStarted";
        let running = "False InstallationInProgress";
        for (state, connected, requirements, validated, installed, bound) in [
            (
                "discovering",
                "True AgentIsConnected",
                "False AgentNotReady",
                "True ValidationsPassing",
                started,
                "True Bound",
            ),
            (
                "known",
                "True AgentIsConnected",
                "True AgentIsReady",
                "True ValidationsPassing",
                started,
                "True Bound",
            ),
            (
                "disconnected",
                "False AgentIsDisconnected",
                "False AgentNotReady",
                "True ValidationsPassing",
                started,
                "True Bound",
            ),
            (
                "insufficient",
                "True AgentIsConnected",
                "False AgentNotReady",
                "False ValidationsFailing",
                started,
                "True Bound",
            ),
            (
                "pending-for-input",
                "True AgentIsConnected",
                "False AgentNotReady",
                "False ValidationsUserPending",
                started,
                "True Bound",
            ),
            (
                "preparing-for-installation",
                "True AgentIsConnected",
                "True AgentAlreadyInstalling",
                "True ValidationsPassing",
                running,
                "True Bound",
            ),
            (
                "installing-in-progress",
                "True AgentIsConnected",
                "True AgentAlreadyInstalling",
                "True ValidationsPassing",
                running,
                "True Bound",
            ),
            (
                "installed",
                "True AgentIsConnected",
                "True AgentInstallationStopped",
                "True ValidationsPassing",
                "True InstallationCompleted",
                "True Bound",
            ),
            (
                "error",
                "True AgentIsConnected",
                "True AgentInstallationStopped",
                "True ValidationsPassing",
                "False InstallationFailed",
                "True Bound",
            ),
            (
                "added-to-existing-cluster",
                "True AgentIsConnected",
                "True AgentInstallationStopped",
                "True ValidationsPassing",
                "True InstallationCompleted",
                "True Bound",
            ),
            (
                "binding",
                "True AgentIsConnected",
                "False Binding",
                "False Binding",
                "False Binding",
                "False Binding",
            ),
            (
                "unbinding",
                "True AgentIsConnected",
                "False Unbinding",
                "False Unbinding",
                "False Unbinding",
                "False Unbinding",
            ),
            (
                "unbinding-pending-user-action",
                "True AgentIsConnected",
                "False Unbinding",
                "False Unbinding",
                "False Unbinding",
                "False UnbindingPendingUserAction",
            ),
            (
                "known-unbound",
                "True AgentIsConnected",
                "True AgentIsReady",
                "True ValidationsPassing",
                started,
                "False Unbound",
            ),
            (
                "disconnected-unbound",
                "False AgentIsDisconnected",
                "False AgentNotReady",
                "True ValidationsPassing",
                started,
                "False Unbound",
            ),
            (
                "insufficient-unbound",
                "True AgentIsConnected",
                "False AgentNotReady",
                "False ValidationsFailing",
                started,
                "False Unbound",
            ),
            (
                "cancelled",
                "True AgentIsConnected",
                "Unknown UnknownStatus",
                "True ValidationsPassing",
                "Unknown UnknownStatus",
                "True Bound",
            ),
        ] {
            let host = host(state);
            let status = status(None, &seen(Some(&host)), &now(1));
            let found = ["Connected", "RequirementsMet", "Validated", "Installed", "Bound"]
                .map(|kind| condition_of(&status, kind));
            assert_eq!(found, [connected, requirements, validated, installed, bound], "{state}");
        }
    }

    #[test]
    fn what_a_host_is_doing_is_shown_and_shown_again_as_it_was() {
        let host = host("insufficient");
        let first = status(None, &seen(Some(&host)), &now(1));
        assert_eq!((first.role.as_str(), first.kind.as_str()), ("master", "Host"));
        let progress = first.progress.clone().unwrap();
        assert_eq!(
            (progress.current_stage.as_str(), progress.installation_percentage),
            ("Writing image to disk", Some(40))
        );
        let failing = first.conditions.iter().find(|condition| condition.r#type == "Validated").unwrap();
        assert_eq!(failing.message, "The agent's validations are failing: first,second");
        let tomorrow = Observed { events_url: Some("tomorrow's"), ..seen(Some(&host)) };
        assert_eq!(status(Some(&first), &tomorrow, &now(2)), first);

        let unapproved = Observed { approved: false, ..seen(Some(&host)) };
        assert_eq!(
            condition_of(&status(None, &unapproved, &now(1)), "RequirementsMet"),
            "False AgentNotReady"
        );
        let unjudged = Host { validations_info: String::new(), ..host.clone() };
        let unjudged = Host { status: HostStatus::Known, ..unjudged };
        let shown = status(None, &seen(Some(&unjudged)), &now(1));
        assert_eq!(condition_of(&shown, "Validated"), "Unknown ValidationsUnknown");
        let lost = status(Some(&first), &seen(None), &now(3));
        for kind in ["Connected", "RequirementsMet", "Validated", "Installed", "Bound"] {
            assert_eq!(condition_of(&lost, kind), "Unknown NotAvailable");
        }
        assert_eq!(lost.debug_info.unwrap().state, "");
    }
}
