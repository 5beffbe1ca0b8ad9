//! Reports of progress (state-machines §4.4, §4.5).

use assisted_wire::cluster::ClusterStatus as C;
use assisted_wire::host::{HostKind, HostProgress, HostStage as Stage, HostStatus as S};

use super::*;
use crate::decide::host::progress::{Progressed, update};
use crate::model::host::HostKey;
use crate::model::object_key::ObjectKey;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::state::host::{stage, status_info as info};

fn progress_of(stage: Stage, info: &str) -> HostProgress {
    HostProgress { current_stage: Some(stage), progress_info: info.to_owned() }
}

/// Works a report in, and takes over what changes.
fn report(facts: &mut Facts, stage: Stage, info: &str) -> Result<Progressed, Refusal> {
    let outcome = update(facts, facts.hosts[0].key(), &progress_of(stage, info))?;
    if let Some(record) = outcome.decision.hosts.first().and_then(|change| change.record.clone()) {
        facts.hosts[0].record = record.into();
    }
    Ok(outcome)
}

fn refused(facts: &mut Facts, stage: Stage) -> (RefusalKind, String) {
    let refusal = report(facts, stage, "").unwrap_err();
    (refusal.kind, refusal.reason)
}

fn playing(role: HostRole, bootstrap: bool) -> Facts {
    host_in(S::Installing, C::Installing).with_host(|host| {
        host.record.host.role = Some(role);
        host.record.host.bootstrap = bootstrap;
    })
}

fn percentage(facts: &Facts) -> i64 {
    facts.first().progress.as_ref().unwrap().installation_percentage
}

fn day2(facts: Facts) -> Facts {
    facts
        .with_host(|host| host.record.host.kind = HostKind::AddToExistingClusterHost)
        .with_cluster(|cluster| cluster.status = C::AddingHosts)
}

#[test]
fn percentages_of_each_role() {
    let single = playing(HostRole::Master, true).with_cluster(|cluster| cluster.control_plane_count = 1);
    for (facts, expected) in [
        (playing(HostRole::Master, true), vec![9, 18, 27, 36, 45, 54, 63, 72, 81, 90, 100]),
        (playing(HostRole::Master, false), vec![12, 25, 37, 50, 62, 75, 87, 100]),
        (playing(HostRole::Arbiter, false), vec![12, 25, 37, 50, 62, 75, 87, 100]),
        (playing(HostRole::Worker, false), vec![11, 22, 33, 44, 55, 66, 77, 88, 100]),
        (single, vec![12, 25, 37, 50, 62, 75, 87, 100]),
        (day2(playing(HostRole::Worker, false)), vec![20, 40, 60, 80, 100]),
        (playing(HostRole::AutoAssign, false), vec![]),
    ] {
        let mut facts = facts;
        let stages = stage::of(facts.first(), facts.cluster.as_ref().map(|record| &record.cluster));
        assert_eq!(stages.len(), expected.len());
        for (place, (stage, percent)) in stages.iter().zip(expected).enumerate() {
            facts.wait(1);
            let outcome = report(&mut facts, *stage, "").unwrap();
            assert!(outcome.stage_changed);
            assert_eq!(percentage(&facts), percent, "{stage}");
            let progress = facts.first().progress.as_ref().unwrap();
            assert_eq!(progress.stage_started_at, facts.now.into());
            let whole = stage::place(facts.first(), facts.cluster.as_ref().map(|record| &record.cluster));
            if !facts.hosts[0].is_day2() {
                assert_eq!(whole, (place + 1, stages.len()));
            }
        }
    }
}

#[test]
fn states_and_texts_on_the_way() {
    let mut facts = playing(HostRole::Worker, false);
    let outcome = report(&mut facts, Stage::StartingInstallation, "worker").unwrap();
    assert_eq!(facts.status_and_info(), (S::InstallingInProgress, "Starting installation"));
    assert_eq!(names(&outcome.decision.events), ["host_status_updated", "host_install_progress_updated"]);
    assert_eq!(
        outcome.decision.events[1].message,
        "Host: host-1, reached installation stage Starting installation: worker"
    );
    report(&mut facts, Stage::Rebooting, "").unwrap();
    assert_eq!(facts.status_and_info(), (S::InstallingInProgress, "Rebooting"));
    let outcome = report(&mut facts, Stage::Done, "").unwrap();
    assert_eq!(facts.status_and_info(), (S::Installed, "Done"));
    assert_eq!(outcome.decision.events[1].message, "Host: host-1, reached installation stage Done");
    assert_eq!(refused(&mut facts, Stage::Joined).0, RefusalKind::Conflict);
}

#[test]
fn the_same_again() {
    let mut facts = in_stage(Stage::WritingImageToDisk, C::Installing);
    facts.hosts[0].record.host.progress.as_mut().unwrap().progress_info = "5%".to_owned();
    facts.wait(60);
    assert_eq!(report(&mut facts, Stage::WritingImageToDisk, "5%").unwrap(), Progressed::default());
    let outcome = report(&mut facts, Stage::WritingImageToDisk, "10%").unwrap();
    assert!(!outcome.stage_changed);
    assert_eq!(names(&outcome.decision.events), ["host_install_progress_updated"]);
    let progress = facts.first().progress.as_ref().unwrap();
    assert_eq!(progress.stage_updated_at, facts.now.into());
    assert_eq!(progress.stage_started_at, now().into());
    // That is taken from a host in any state.
    facts.hosts[0].record.host.status = S::Error;
    report(&mut facts, Stage::WritingImageToDisk, "15%").unwrap();
    assert_eq!(facts.first().status, S::Error);
}

#[test]
fn a_new_stage_has_a_new_clock() {
    let mut facts = in_stage(Stage::Installing, C::Installing)
        .with_host(|host| host.record.host.progress.as_mut().unwrap().stage_timed_out = true);
    facts.wait(5);
    report(&mut facts, Stage::WritingImageToDisk, "").unwrap();
    let progress = facts.first().progress.as_ref().unwrap();
    assert!(!progress.stage_timed_out);
    assert_eq!(progress.stage_updated_at, facts.now.into());
}

#[test]
fn refusals() {
    let mut unbound = testing::unbound();
    let reason = format!("host {} is not bound to any cluster, cannot update progress", unbound.first().id);
    assert_eq!(refused(&mut unbound, Stage::Installing), (RefusalKind::Invalid, reason));

    let mut known = host_in(S::Known, C::Installing);
    let reason = "Can't set progress <Installing> to host in status <known>".to_owned();
    assert_eq!(refused(&mut known, Stage::Installing), (RefusalKind::Conflict, reason));

    let mut worker = in_stage(Stage::WritingImageToDisk, C::Installing);
    let reason =
        "Stages Waiting for bootkube isn't available for host role worker bootstrap false".to_owned();
    assert_eq!(refused(&mut worker, Stage::WaitingForBootkube), (RefusalKind::Conflict, reason));
    let reason =
        "Can't assign lower stage \"Installing\" after host has been in stage \"Writing image to disk\"";
    assert_eq!(refused(&mut worker, Stage::Installing), (RefusalKind::Conflict, reason.to_owned()));

    let facts = in_stage(Stage::Installing, C::Installing);
    let own = facts.hosts[0].key();
    assert_eq!(update(&facts, own, &HostProgress::default()).unwrap_err().kind, RefusalKind::Invalid);
    let other = HostKey { host_id: testing::host_id(9), ..own };
    assert_eq!(
        update(&facts, other, &progress_of(Stage::Installing, "")).unwrap_err().kind,
        RefusalKind::NotFound
    );
}

#[test]
fn the_first_stage_may_be_any() {
    let mut facts = playing(HostRole::Worker, false);
    report(&mut facts, Stage::WaitingForBootkube, "").unwrap();
    assert_eq!(percentage(&facts), 0);
    assert_eq!(facts.status_and_info(), (S::InstallingInProgress, "Waiting for bootkube"));
}

#[test]
fn failure_keeps_the_stage() {
    for (info, text) in [("", "Failed"), ("no disk", "Failed - no disk")] {
        let mut facts = playing(HostRole::Worker, false);
        report(&mut facts, Stage::Installing, "").unwrap();
        let outcome = report(&mut facts, Stage::Failed, info).unwrap();
        assert_eq!(facts.status_and_info(), (S::Error, text));
        assert_eq!(percentage(&facts), 22);
        assert_eq!(facts.first().progress.as_ref().unwrap().current_stage, Some(Stage::Installing));
        assert_eq!(names(&outcome.decision.events), ["host_status_updated", "host_install_progress_updated"]);
    }
}

#[test]
fn hosts_that_join_a_cluster_end_with_their_reboot() {
    for status in [S::Installing, S::InstallingInProgress, S::InstallingPendingUserAction] {
        let mut facts = day2(playing(HostRole::Worker, false));
        facts.hosts[0].record.host.status = status;
        report(&mut facts, Stage::Rebooting, "").unwrap();
        assert_eq!(facts.status_and_info(), (S::AddedToExistingCluster, info::DAY2_DONE));
        assert_eq!(facts.first().progress.as_ref().unwrap().current_stage, Some(Stage::Done));
        assert_eq!(percentage(&facts), 100);
    }
}

#[test]
fn hosts_that_join_a_cluster_of_a_hub_are_followed_to_their_end() {
    for status in [S::Installing, S::InstallingInProgress] {
        let mut facts = day2(playing(HostRole::Worker, false));
        facts.hosts[0].record.host.status = status;
        facts.cluster.as_mut().unwrap().object_key = Some(ObjectKey::new("site", "demo"));
        report(&mut facts, Stage::Rebooting, "").unwrap();
        assert_eq!(facts.status_and_info(), (S::InstallingInProgress, "Rebooting"));
        assert_eq!(percentage(&facts), 55);
        report(&mut facts, Stage::Joined, "").unwrap();
        assert_eq!(facts.status_and_info(), (S::InstallingInProgress, "Joined"));
        report(&mut facts, Stage::Done, "").unwrap();
        assert_eq!(facts.status_and_info(), (S::AddedToExistingCluster, "Done"));
        assert_eq!(
            (facts.first().progress.as_ref().unwrap().current_stage, percentage(&facts)),
            (Some(Stage::Done), 100)
        );
    }
}

#[test]
fn a_host_that_was_helped_goes_on() {
    let mut facts = in_stage(Stage::Rebooting, C::InstallingPendingUserAction)
        .with_host(|host| host.record.host.status = S::InstallingPendingUserAction);
    report(&mut facts, Stage::WaitingForIgnition, "").unwrap();
    assert_eq!(facts.status_and_info(), (S::InstallingInProgress, "Waiting for ignition"));
    // It does not end before it goes on.
    facts.hosts[0].record.host.status = S::InstallingPendingUserAction;
    report(&mut facts, Stage::Done, "").unwrap();
    assert_eq!(facts.status_and_info(), (S::InstallingInProgress, "Done"));
}
