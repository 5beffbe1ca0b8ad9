//! Installations that go on, take too long, fall silent, or need a person (state-machines §4.8 rows 14–29, §4.11).

use assisted_wire::cluster::ClusterStatus as C;
use assisted_wire::cluster::LogsState;
use assisted_wire::event::EventSeverity;
use assisted_wire::host::{HostKind, HostStage as Stage, HostStatus as S};

use super::*;
use crate::state::host::check_in::wakes_on_check_in;
use crate::state::host::status_info as info;

#[test]
fn begins_with_the_disks_that_are_wiped() {
    let mut facts = host_in(S::PreparingSuccessful, C::Installing).with_host(|host| {
        let fields = &mut host.record.host;
        "/dev/disk/by-id/sda,/dev/disk/by-id/sdb".clone_into(&mut fields.disks_to_be_formatted);
        "/dev/disk/by-id/sdb".clone_into(&mut fields.skip_formatting_disks);
    });
    let events = facts.refresh();
    assert_eq!(facts.status_and_info(), (S::Installing, info::INSTALLING));
    assert_eq!(facts.first().installer_version, facts.policy.images.installer);
    assert_eq!(
        names(&events),
        ["host_status_updated", "quick_disk_format_performed", "quick_disk_format_skipped"]
    );
    assert_eq!(events[1].message, "host-1: Performing quick format of disk sda(/dev/disk/by-id/sda)");
}

#[test]
fn the_installer_must_start() {
    let mut facts = host_in(S::Installing, C::Installing);
    facts.hosts[0].checked_in_at += SignedDuration::from_secs(19 * 60);
    let events = facts.changes_after(20 * 60);
    assert_eq!(facts.status_and_info(), (S::Error, info::START_TIMED_OUT));
    assert_eq!(events[0].severity, EventSeverity::Error);
}

#[test]
fn silence_ends_it_before_the_reboot() {
    for status in [S::Installing, S::InstallingInProgress] {
        let mut facts = host_in(status, C::Installing);
        facts.changes_after(180);
        assert_eq!(facts.status_and_info(), (S::Error, info::CONNECTION_TIMED_OUT));
    }
    let mut bootstrap = in_stage(Stage::WaitingForBootkube, C::Installing)
        .with_host(|host| host.record.host.bootstrap = true);
    bootstrap.changes_after(300);
    assert_eq!(bootstrap.status_and_info(), (S::Error, info::CONNECTION_TIMED_OUT));
    for stage in [Stage::Rebooting, Stage::WaitingForIgnition, Stage::Configuring, Stage::Joined, Stage::Done]
    {
        let mut facts = in_stage(stage, C::Installing);
        facts.wait(600);
        facts.refresh();
        assert_eq!(facts.first().status, S::InstallingInProgress, "{stage}");
    }
}

#[test]
fn soft_limits_only_tell_of_silence() {
    for status in [S::Installing, S::InstallingInProgress] {
        let mut facts = host_in(status, C::Installing).soft();
        facts.changes_after(180);
        assert_eq!(facts.status_and_info(), (status, info::CONNECTION_SOFT));
        assert!(facts.first().connection_timed_out);
        assert!(wakes_on_check_in(&facts.hosts[0]));
        facts.check_in();
        facts.refresh();
        assert_eq!(facts.status_and_info(), (status, info::CONNECTION_RECOVERED));
        assert!(!facts.first().connection_timed_out);
    }
}

/// The stages with their limits in minutes, and which event their end has.
const STAGES: [(Stage, i64, &str); 11] = [
    (Stage::StartingInstallation, 30, "took longer than expected 30m0s"),
    (Stage::Installing, 60, "took longer than expected 1h0m0s"),
    (Stage::WaitingForControlPlane, 60, "took longer than expected 1h0m0s"),
    (Stage::WaitingForBootkube, 60, "took longer than expected 1h0m0s"),
    (Stage::WaitingForController, 60, "took longer than expected 1h0m0s"),
    (Stage::WaitingForIgnition, 24 * 60, "took longer than expected 24h0m0s"),
    (Stage::Configuring, 60, "took longer than expected 1h0m0s"),
    (Stage::Joined, 60, "took longer than expected 1h0m0s"),
    (Stage::Done, 60, "took longer than expected 1h0m0s"),
    (Stage::WritingImageToDisk, 30, "did not sufficiently progress in the last 30m0s."),
    (Stage::CopyingRegistryDataToDisk, 90, "did not sufficiently progress in the last 1h30m0s."),
];

/// ParsedConnectivity until shortly before the limit, so that silence does not come first.
fn heard_until(mut facts: Facts, minutes: i64) -> Facts {
    facts.hosts[0].checked_in_at += SignedDuration::from_mins(minutes - 1);
    facts
}

#[test]
fn stages_take_no_longer_than_they_may() {
    for (stage, minutes, end) in STAGES {
        let mut facts = heard_until(in_stage(stage, C::Installing), minutes);
        facts.changes_after(minutes * 60);
        let text = format!("Host failed to install because its installation stage {stage} {end}");
        assert_eq!(facts.status_and_info(), (S::Error, text.as_str()));
    }
}

#[test]
fn soft_limits_only_tell_of_stages() {
    for (stage, minutes, end) in STAGES {
        let mut facts = heard_until(in_stage(stage, C::Installing).soft(), minutes);
        let events = facts.changes_after(minutes * 60);
        let text = match end.split_once("did not sufficiently progress") {
            Some((_, limit)) => format!(
                "Host installation stage {stage} is not progressing sufficiently{limit} To troubleshoot use kubeconfig or connect to the node using ssh"
            ),
            None => format!(
                "Host installation stage {stage} is taking longer than expected {}",
                end.rsplit(' ').next().unwrap()
            ),
        };
        assert_eq!(facts.status_and_info(), (S::InstallingInProgress, text.as_str()));
        assert_eq!(names(&events), ["host_stage_timed_out"]);
        let event = format!(
            "Host host-1: host stage {stage} has been active more than the expected completion time ({minutes} minutes)"
        );
        assert_eq!(events[0].message, event);
        assert!(facts.first().progress.as_ref().unwrap().stage_timed_out);
    }
}

#[test]
fn a_host_that_does_not_come_back_needs_a_person() {
    for soft in [false, true] {
        let mut facts = in_stage(Stage::Rebooting, C::Installing);
        if soft {
            facts = facts.soft();
        }
        let events = facts.changes_after(40 * 60);
        assert_eq!(facts.first().status, S::InstallingPendingUserAction);
        let disk =
            "boots from the OpenShift installation disk (sda, /dev/disk/by-id/sda) and has network access";
        assert!(facts.first().status_info.contains(disk), "{}", facts.first().status_info);
        assert_eq!(events[0].severity, EventSeverity::Warning);
    }
    let mut single =
        in_stage(Stage::Rebooting, C::Installing).with_cluster(|own| own.control_plane_count = 1);
    single.changes_after(80 * 60);
    assert_eq!(single.first().status, S::InstallingPendingUserAction);
    let mut unknown = in_stage(Stage::Rebooting, C::Installing)
        .with_host(|host| host.record.host.installation_disk_id.clear());
    unknown = unknown.with_host(|host| host.record.host.installation_disk_path.clear());
    unknown.changes_after(40 * 60);
    assert!(unknown.first().status_info.contains("installation disk  and has"));
}

#[test]
fn nobody_is_blamed_while_another_host_needs_a_person() {
    let held = [
        Stage::WaitingForControlPlane,
        Stage::WaitingForController,
        Stage::WaitingForBootkube,
        Stage::Rebooting,
    ];
    for stage in held {
        let mut facts = in_stage(stage, C::InstallingPendingUserAction);
        facts.changes_after(60);
        let progress = facts.first().progress.as_ref().unwrap();
        assert_eq!(progress.stage_updated_at, facts.now.into());
        assert_eq!(progress.stage_started_at, now().into());
        facts.wait(3 * 3600);
        facts.check_in();
        facts.refresh();
        assert_eq!(facts.first().status, S::InstallingInProgress, "{stage}");
    }
    let mut facts = heard_until(in_stage(Stage::Configuring, C::InstallingPendingUserAction), 60);
    facts.changes_after(3600);
    assert_eq!(facts.first().status, S::Error);
}

/// Three masters that are installed, and two workers of which one waits for a person.
fn with_others(installed_masters: usize) -> Facts {
    let mut facts = host_in(S::InstallingPendingUserAction, C::InstallingPendingUserAction);
    for number in 2..=4 {
        let mut host = testing::host(number);
        host.record.host.cluster_id = facts.first().cluster_id;
        host.record.host.role = Some(HostRole::Master);
        let installed = number < 2 + installed_masters;
        host.record.host.status = if installed { S::Installed } else { S::InstallingInProgress };
        facts.hosts.push(host);
    }
    facts
}

#[test]
fn a_host_that_nobody_helps_is_given_up_if_it_is_not_needed() {
    let mut facts = with_others(3);
    facts.changes_after(3600);
    assert_eq!(facts.status_and_info(), (S::Error, info::USER_ACTION_TIMED_OUT));
    let mut needed = with_others(2);
    needed.wait(24 * 3600);
    needed.refresh();
    assert_eq!(needed.first().status, S::InstallingPendingUserAction);
    assert_eq!(needed.next_check(), None);
    for cluster in [C::Installed, C::AddingHosts] {
        let mut late = with_others(3).with_cluster(|own| own.status = cluster);
        late.wait(24 * 3600);
        late.refresh();
        assert_eq!(late.first().status, S::InstallingPendingUserAction);
    }
}

#[test]
fn hosts_fail_with_their_cluster() {
    let states = [
        S::Installing,
        S::InstallingInProgress,
        S::Installed,
        S::InstallingPendingUserAction,
        S::ResettingPendingUserAction,
    ];
    for status in states {
        let mut facts = host_in(status, C::Error);
        facts.refresh();
        assert_eq!(facts.status_and_info(), (S::Error, info::ABORTED), "{status}");
        let mut day2 = host_in(status, C::Error)
            .with_host(|host| host.record.host.kind = HostKind::AddToExistingClusterHost);
        day2.refresh();
        assert_eq!(day2.first().status, status, "day-2 in {status}");
    }
}

#[test]
fn logs_are_not_awaited_for_ever() {
    for status in [S::Error, S::Cancelled] {
        let logs = |state: Option<LogsState>, started: bool, collected: bool| {
            host_in(status, C::Cancelled).with_host(|host| {
                let fields = &mut host.record.host;
                fields.logs_info = state;
                if started {
                    fields.logs_started_at = now().into();
                }
                if collected {
                    fields.logs_collected_at = now().into();
                }
            })
        };
        for (mut facts, seconds) in [
            (logs(None, false, false), 120),
            (logs(Some(LogsState::Requested), true, false), 600),
            (logs(Some(LogsState::Requested), true, true), 600),
            (logs(Some(LogsState::Collecting), true, true), 120),
        ] {
            facts.changes_after(seconds);
            assert_eq!(facts.first().logs_info, Some(LogsState::Timeout));
            assert_eq!(facts.next_check(), None);
        }
        for state in [LogsState::Completed, LogsState::Timeout] {
            let mut facts = logs(Some(state), true, true);
            facts.wait(86400);
            facts.refresh();
            assert_eq!(facts.first().logs_info, Some(state));
        }
    }
}
