//! Installations that are cancelled or reset, and hosts that leave or are taken out (state-machines §4.7).

use crate::model::refusal::RefusalKind;
use assisted_wire::cluster::ClusterStatus as C;
use assisted_wire::host::{HostKind, HostStage as Stage, HostStatus as S};
use assisted_wire::step::StepType::DownloadBootArtifacts;

use super::*;
use crate::decide::host::binding::{reclaim_host, release_host, unbind_described_host};
use crate::decide::host::cancel::cancel;
use crate::decide::host::disable::{disable_host, enable_host};
use crate::decide::host::install::{install_day2, may_install};
use crate::decide::host::reset;
use crate::decide::host::{bootstrap, role};
use crate::model::decision::Decision;
use crate::model::infra_env::InfraEnvRecord;
use crate::model::report::ReportKind;
use crate::state::host::{resetting, status_info as info};

/// Takes an outcome over; the names of its events.
fn take(facts: &mut Facts, outcome: Decision) -> Vec<&'static str> {
    for change in outcome.hosts {
        change.record.into_iter().for_each(|record| facts.hosts[0].record = record.into());
        for (kind, text) in change.reports {
            facts.hosts[0].put_report(kind, text.into());
        }
    }
    outcome.events.iter().map(|event| event.name).collect()
}

#[test]
fn cancelled_in_each_state() {
    for status in S::ALL {
        let expected = match status {
            S::InstallingPendingUserAction
            | S::Installing
            | S::InstallingInProgress
            | S::Installed
            | S::Error => Some((S::Cancelled, info::CANCELLED)),
            S::PreparingForInstallation | S::PreparingSuccessful => Some((S::Known, info::CANCELLED)),
            S::Known => Some((S::Known, "")),
            _ => None,
        };
        let (mut facts, mut events) = (host_in(*status, C::Cancelled), Vec::new());
        let outcome = cancel(&mut facts.hosts[0], now(), &mut events);
        let last = names(&events).last().copied();
        match expected {
            Some(expected) => {
                outcome.unwrap();
                assert_eq!(facts.status_and_info(), expected);
                assert_eq!(last, Some("host_installation_cancelled"));
            }
            None => {
                assert_eq!(outcome.unwrap_err().kind, RefusalKind::Conflict, "{status}");
                assert_eq!(facts.first().status, *status);
                assert_eq!(names(&events), ["host_cancel_installation_failed"]);
            }
        }
    }
}

#[test]
fn reset_in_each_state() {
    for status in S::ALL {
        let can = matches!(
            status,
            S::Resetting
                | S::Discovering
                | S::Known
                | S::InstallingPendingUserAction
                | S::Installing
                | S::PreparingForInstallation
                | S::PreparingSuccessful
                | S::PreparingFailed
                | S::PendingForInput
                | S::ResettingPendingUserAction
                | S::InstallingInProgress
                | S::Installed
                | S::Error
                | S::Cancelled
                | S::AddedToExistingCluster
        );
        let (mut facts, mut events) = (host_in(*status, C::Insufficient), Vec::new());
        let outcome = reset::reset(&mut facts.hosts[0], now(), &mut events);
        assert_eq!(outcome.is_ok(), can, "{status}");
        if can {
            assert_eq!(facts.status_and_info(), (S::ResettingPendingUserAction, info::RESET));
            assert_eq!(names(&events).last().copied(), Some("host_installation_reset"));
        } else {
            assert_eq!(names(&events), ["host_installation_reset_failed"]);
        }
    }
}

#[test]
fn hosts_of_old_resets_are_asked_for() {
    let mut facts = host_in(S::Resetting, C::Insufficient);
    let limit = SignedDuration::from_mins(3);
    assert!(!resetting::is_overdue(&facts.hosts[0], &facts.policy, now()));
    assert!(resetting::is_overdue(&facts.hosts[0], &facts.policy, now() + limit));
    let rebooted = in_stage(Stage::Configuring, C::Insufficient)
        .with_host(|host| host.record.host.status = S::Resetting);
    assert!(resetting::is_overdue(&rebooted.hosts[0], &facts.policy, now()));
    let mut events = Vec::new();
    resetting::demand(&mut facts.hosts[0], now(), &mut events);
    assert_eq!(facts.status_and_info(), (S::ResettingPendingUserAction, info::RESET));
    assert_eq!(names(&events), ["host_status_updated", "user_required_complete_installation_reset"]);
}

#[test]
fn checks_are_made_anew() {
    let known = r#"{"/dev/disk/by-id/sda":{"path":"/dev/disk/by-id/sda","disk_speed":{"tested":true,"exit_code":1}},"/dev/x":{"path":"/dev/x"}}"#;
    let mut facts = host_in(S::Insufficient, C::Insufficient)
        .with_report(ReportKind::DisksInfo, known)
        .with_report(ReportKind::ImagesStatus, "{}");
    let outcome =
        reset::reset_validation(&facts.hosts[0], "sufficient-installation-disk-speed", now()).unwrap();
    take(&mut facts, outcome);
    assert_eq!(facts.hosts[0].report(ReportKind::DisksInfo), r#"{"/dev/x":{"path":"/dev/x"}}"#);
    let outcome = reset::reset_validation(&facts.hosts[0], "container-images-available", now()).unwrap();
    take(&mut facts, outcome);
    assert_eq!(facts.hosts[0].report(ReportKind::ImagesStatus), "");
    for id in ["ntp-synced", "nonsense", ""] {
        let refusal = reset::reset_validation(&facts.hosts[0], id, now()).unwrap_err();
        let reason = format!("Validation \"{id}\" cannot be reset or does not exist");
        assert_eq!((refusal.kind, refusal.reason), (RefusalKind::Invalid, reason));
    }
    let unbound = testing::unbound();
    let refusal =
        reset::reset_validation(&unbound.hosts[0], "container-images-available", now()).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Internal);
}

#[test]
fn disabled_hosts_come_back_through_discovery() {
    for status in S::ALL {
        let bound = [S::Discovering, S::Known, S::Disconnected, S::Insufficient, S::PendingForInput];
        let pool = [S::DiscoveringUnbound, S::KnownUnbound, S::DisconnectedUnbound, S::InsufficientUnbound];
        let mut facts = host_in(*status, C::Ready);
        let (disabled, back) = match status {
            status if bound.contains(status) => (S::Disabled, S::Discovering),
            status if pool.contains(status) => (S::DisabledUnbound, S::DiscoveringUnbound),
            _ => {
                assert_eq!(
                    disable_host(&facts.hosts[0], now()).unwrap_err().refusal.kind,
                    RefusalKind::Conflict,
                    "{status}"
                );
                continue;
            }
        };
        assert_eq!(enable_host(&facts.hosts[0], now()).unwrap_err().refusal.kind, RefusalKind::Conflict);
        facts.hosts[0].record.host.bootstrap = true;
        let outcome = disable_host(&facts.hosts[0], now()).unwrap();
        assert_eq!(take(&mut facts, outcome), ["host_status_updated"]);
        assert_eq!(facts.status_and_info(), (disabled, info::DISABLED));
        assert!(!crate::model::facts::takes_part(&facts.hosts[0]));
        assert!(facts.clone().without_disabled().hosts.is_empty());
        assert!(!facts.first().bootstrap || pool.contains(status), "{status}");
        facts.wait(86400);
        assert_eq!(facts.next_check(), None);
        let outcome = enable_host(&facts.hosts[0], now()).unwrap();
        take(&mut facts, outcome);
        assert_eq!(facts.status_and_info(), (back, info::DISCOVERING));
    }
}

#[test]
fn installed_hosts_are_reclaimed() {
    for status in S::ALL {
        let expected = match status {
            S::Installed | S::AddedToExistingCluster => Some(S::Reclaiming),
            S::Known | S::Discovering | S::Disconnected | S::Insufficient | S::PendingForInput => {
                Some(S::Unbinding)
            }
            S::Error | S::Cancelled => Some(S::UnbindingPendingUserAction),
            _ => None,
        };
        let mut facts = host_in(*status, C::Installed);
        match (reclaim_host(&facts.hosts[0], now()), expected) {
            (Ok(outcome), Some(expected)) => {
                take(&mut facts, outcome);
                assert_eq!(facts.status_and_info(), (expected, info::UNBINDING), "{status}");
                assert_eq!(facts.first().cluster_id, None);
            }
            (outcome, expected) => assert_eq!(outcome.is_ok(), expected.is_some(), "{status}"),
        }
    }
    let mut facts = host_in(S::Disabled, C::Ready);
    let outcome = release_host(&facts.hosts[0], now()).unwrap();
    take(&mut facts, outcome);
    assert_eq!(facts.first().status, S::Unbinding);
}

#[test]
fn an_object_takes_a_host_out_even_while_it_is_installed() {
    let pool = serde_json::json!({"infra_env": {
        "kind": "InfraEnv", "id": "22222222-2222-4222-8222-222222222222", "href": "", "name": "pool",
        "type": "full-iso", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    }});
    let pool: InfraEnvRecord = serde_json::from_value(pool).unwrap();
    for (status, reclaimed, expected) in [
        (S::Known, false, S::Unbinding),
        (S::InstallingInProgress, false, S::UnbindingPendingUserAction),
        (S::Installed, false, S::UnbindingPendingUserAction),
        (S::AddedToExistingCluster, true, S::Reclaiming),
    ] {
        let mut facts = host_in(status, C::Installed);
        let outcome = unbind_described_host(&facts.hosts[0], &pool, reclaimed, now()).unwrap();
        take(&mut facts, outcome);
        assert_eq!(facts.status_and_info(), (expected, info::UNBINDING), "{status}");
        let again = unbind_described_host(&facts.hosts[0], &pool, reclaimed, now()).unwrap_err().refusal;
        assert!(again.reason.ends_with("is already unbound"), "{again:?}");
    }
}

#[test]
fn reclaimed_hosts_reboot_in_time() {
    let mut facts = host_in(S::Reclaiming, C::Installed);
    facts.answer(DownloadBootArtifacts, 0, "Successfully downloaded boot artifacts", "");
    assert_eq!(facts.status_and_info(), (S::ReclaimingRebooting, info::RECLAIM_REBOOTING));
    facts.changes_after(3600);
    assert_eq!(facts.status_and_info(), (S::UnbindingPendingUserAction, info::UNBINDING));
    for status in [S::Reclaiming, S::ReclaimingRebooting] {
        let mut facts = host_in(status, C::Installed);
        facts.answer(DownloadBootArtifacts, -1, "", "no space");
        assert_eq!(facts.status_and_info(), (S::UnbindingPendingUserAction, info::UNBINDING));
    }
    let mut other = host_in(S::Known, C::Ready);
    assert!(other.answer(DownloadBootArtifacts, 0, "", "").is_empty());
    assert_eq!(other.first().status, S::Known);
}

#[test]
fn hosts_that_join_a_cluster_are_installed_one_by_one() {
    let day2 = || {
        host_in(S::Known, C::AddingHosts)
            .with_host(|host| host.record.host.kind = HostKind::AddToExistingClusterHost)
    };
    let mut facts = day2();
    may_install(&facts.hosts[0]).unwrap();
    let (policy, mut events) = (facts.policy.clone(), Vec::new());
    install_day2(&mut facts.hosts[0], &policy, now(), &mut events).unwrap();
    assert_eq!(facts.status_and_info(), (S::Installing, info::INSTALLING));
    assert_eq!(names(&events), ["host_status_updated", "host_installation_started"]);
    let refusal = may_install(&facts.hosts[0]).unwrap_err();
    assert_eq!(
        (refusal.kind, refusal.reason.as_str()),
        (RefusalKind::Conflict, "cannot install host in state installing")
    );
    let refusal = install_day2(&mut facts.hosts[0], &policy, now(), &mut events).unwrap_err();
    assert_eq!(refusal.reason, "cannot install host in state installing after refresh");
    let day1 = host_in(S::Known, C::Ready);
    let refusal = may_install(&day1.hosts[0]).unwrap_err();
    assert_eq!(refusal.reason, "method only allowed when adding hosts to an existing cluster");
    let unbound = day2().with_host(|host| host.record.host.cluster_id = None);
    assert_eq!(may_install(&unbound.hosts[0]).unwrap_err().kind, RefusalKind::NotFound);
}

fn several(roles: &[HostRole], status: S) -> Facts {
    let mut facts = host_in(status, C::Ready);
    let template = facts.hosts.remove(0);
    for (number, role) in roles.iter().enumerate() {
        let mut host = template.clone();
        host.record.host.id = testing::host_id(number + 1);
        host.record.host.role = Some(*role);
        facts.hosts.push(host);
    }
    facts
}

#[test]
fn the_last_ready_master_is_bootstrap() {
    let (m, w) = (HostRole::Master, HostRole::Worker);
    let chosen = |facts: &Facts| facts.hosts.iter().position(|host| host.record.host.bootstrap);
    let mut events = Vec::new();
    let mut facts = several(&[m, m, m, w], S::Known);
    facts.hosts[2].record.host.status = S::Disconnected;
    bootstrap::choose(&mut facts.hosts, &mut events).unwrap();
    assert_eq!(chosen(&facts), Some(1));
    assert_eq!(names(&events), ["host_bootstrap_set"]);
    facts.hosts[2].record.host.status = S::Known;
    bootstrap::choose(&mut facts.hosts, &mut events).unwrap();
    assert_eq!((chosen(&facts), events.len()), (Some(1), 1), "once chosen, it stays");
    let mut none = several(&[w, w], S::Known);
    let refusal = bootstrap::choose(&mut none.hosts, &mut events).unwrap_err();
    assert_eq!(refusal.reason, "Cluster have no master hosts that can operate as bootstrap");
    assert_eq!(refusal.kind, RefusalKind::Internal);
}

#[test]
fn roles_are_fixed_at_last() {
    let auto = HostRole::AutoAssign;
    for (count, expected) in [
        (3, "master master master worker worker worker"),
        (4, "master master master master worker worker"),
        (5, "master master master master master worker"),
        (2, "master master arbiter worker worker worker"),
    ] {
        let mut facts = several(&[auto; 6], S::Known).with_cluster(|own| own.control_plane_count = count);
        let mut events = Vec::new();
        assert!(role::fix(&mut facts, &mut events));
        let roles: Vec<_> = facts.hosts.iter().filter_map(|host| host.record.host.role).collect();
        let roles: Vec<_> = roles.iter().map(|role| role.as_str()).collect();
        assert_eq!(roles.join(" "), expected);
        assert!(!role::fix(&mut facts, &mut events), "nothing is left to fix");
    }
    let mut unknown = several(&[auto; 3], S::Known);
    unknown.hosts[1].inventory = None;
    assert!(!role::fix(&mut unknown, &mut Vec::new()));
    assert!(unknown.hosts.iter().all(|host| host.record.host.role == Some(auto)));
}
