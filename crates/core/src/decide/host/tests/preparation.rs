//! The checks before an installation (state-machines §4.8 rows 2–16, §8.2).

use assisted_wire::cluster::ClusterStatus as C;
use assisted_wire::cluster::LogsState;
use assisted_wire::host::{HostRole, HostStatus as S};
use assisted_wire::inventory::{Boot, BootDeviceType};
use assisted_wire::step::StepType::{ContainerImageAvailability, InstallationDiskSpeedCheck};

use super::*;
use crate::model::report::ReportKind;
use crate::state::host::status_info as info;

const SPEED: &str = r#"{"io_sync_duration": 4, "path": "/dev/disk/by-id/sda"}"#;
const PULLED: &str = r#"{"images": [{"name": "a/b:1", "result": "success"}]}"#;
const MISSING: &str = r#"{"images": [{"name": "a/b:1", "result": "failure"}]}"#;

/// What it takes to be ready, as far as it is given and not evaluated here.
fn ready(cluster: C) -> Facts {
    let ignored = r#"["all"]"#;
    let mut facts = host_in(S::Known, cluster);
    facts.cluster.as_mut().unwrap().ignored_host_validations = ignored.to_owned();
    facts
}

fn preparing(cluster: C) -> Facts {
    host_in(S::PreparingForInstallation, cluster)
        .with_host(|host| info::PREPARED.clone_into(&mut host.record.host.status_info))
}

#[test]
fn begins_with_the_cluster() {
    let begun = || {
        ready(C::PreparingForInstallation).with_host(|host| {
            let fields = &mut host.record.host;
            fields.logs_info = Some(LogsState::Completed);
            fields.logs_started_at = now().into();
            fields.logs_collected_at = now().into();
        })
    };
    let mut facts = begun().with_report(ReportKind::ImagesStatus, r#"{"a":{"name":"a","result":"success"}}"#);
    let events = facts.refresh();
    assert_eq!(facts.status_and_info(), (S::PreparingForInstallation, info::PREPARED));
    assert_eq!(names(&events), ["host_status_updated"]);
    let fields = facts.first();
    assert_eq!(fields.logs_info, None);
    assert!(fields.logs_started_at.is_zero() && fields.logs_collected_at.is_zero());
    assert_ne!(facts.hosts[0].report(ReportKind::ImagesStatus), "", "images that could be pulled are kept");

    let mut facts = begun().with_report(ReportKind::ImagesStatus, r#"{"a":{"name":"a","result":"failure"}}"#);
    facts.refresh();
    assert_eq!(facts.hosts[0].report(ReportKind::ImagesStatus), "", "those that could not are tried again");

    let mut facts = begun().with_host(|host| host.record.host.role = Some(HostRole::AutoAssign));
    facts.refresh();
    assert_eq!(facts.first().status, S::Known, "not without a role");
}

#[test]
fn succeeds_when_disk_and_images_are_fine() {
    let mut facts = preparing(C::PreparingForInstallation);
    facts.answer(InstallationDiskSpeedCheck, 0, SPEED, "");
    facts.refresh();
    assert_eq!(facts.first().status, S::PreparingForInstallation);
    facts.answer(ContainerImageAvailability, 0, PULLED, "");
    facts.refresh();
    assert_eq!(facts.status_and_info(), (S::PreparingSuccessful, info::PREPARED));
    facts.test_cluster().status = C::Installing;
    facts.refresh();
    assert_eq!(facts.status_and_info(), (S::Installing, info::INSTALLING));
}

#[test]
fn some_disks_need_no_measuring() {
    let pulled = |facts: Facts| {
        facts.with_report(ReportKind::ImagesStatus, r#"{"a":{"name":"a","result":"success"}}"#)
    };
    let mut kept = pulled(preparing(C::PreparingForInstallation)).with_host(|host| {
        r#"["--save-partlabel", "data"]"#.clone_into(&mut host.record.host.installer_args);
    });
    let mut running = pulled(preparing(C::PreparingForInstallation)).with_machine(|machine| {
        machine.boot = Some(Boot { device_type: Some(BootDeviceType::Persistent), ..Boot::default() });
    });
    for facts in [&mut kept, &mut running] {
        facts.refresh();
        assert_eq!(facts.first().status, S::PreparingSuccessful);
    }
}

#[test]
fn a_disk_that_fails_makes_the_host_insufficient() {
    for status in [S::PreparingForInstallation, S::PreparingFailed, S::Known] {
        let mut facts = host_in(status, C::PreparingForInstallation)
            .with_host(|host| host.record.host.role = Some(HostRole::AutoAssign));
        facts.answer(InstallationDiskSpeedCheck, 1, SPEED, "broken");
        facts.refresh();
        let (status, text) = facts.status_and_info();
        assert_eq!(status, S::Insufficient);
        assert!(
            text.starts_with("Host cannot be installed due to following failing validation(s): "),
            "{text}"
        );
        assert!(text.contains("the installation disk speed measurement failed"), "{text}");
    }
}

#[test]
fn missing_images_fail_it() {
    let mut facts = preparing(C::PreparingForInstallation);
    facts.answer(InstallationDiskSpeedCheck, 0, SPEED, "");
    facts.answer(ContainerImageAvailability, 2, MISSING, "");
    facts.refresh();
    let (status, text) = facts.status_and_info();
    assert_eq!(status, S::PreparingFailed);
    assert!(
        text.starts_with("Host failed to prepare for installation due to following failing validation(s): ")
    );
    assert!(text.contains("Failed to fetch container images needed for installation from a/b:1."), "{text}");
    // The cluster gives up, too: the host may try again.
    facts.test_cluster().status = C::Ready;
    facts.refresh();
    assert_eq!(facts.status_and_info(), (S::Known, info::KNOWN));
}

#[test]
fn takes_no_longer_than_it_may() {
    let start = "The host has encountered a preparation timeout, the following conditions failed: ";
    let disk = "the installation disk speed check did not complete within the timeout.";
    let images = "container availability was not determined within the timeout.";
    for (speed, pulled, expected) in [
        (false, false, format!("{start}{disk}\n{images}")),
        (true, false, format!("{start}{images}")),
        (false, true, format!("{start}{disk}")),
    ] {
        let mut facts = preparing(C::PreparingForInstallation);
        facts.hosts[0].checked_in_at += SignedDuration::from_secs(16 * 60);
        if speed {
            facts.answer(InstallationDiskSpeedCheck, 0, SPEED, "");
        }
        if pulled {
            facts.answer(ContainerImageAvailability, 0, PULLED, "");
        }
        facts.changes_after(17 * 60);
        assert_eq!(facts.status_and_info(), (S::PreparingFailed, expected.as_str()));
    }
}

#[test]
fn ends_when_the_cluster_turns_back() {
    for status in [S::PreparingForInstallation, S::PreparingSuccessful, S::PreparingFailed] {
        let mut facts = host_in(status, C::Insufficient);
        facts.refresh();
        assert_eq!(facts.status_and_info(), (S::Known, info::KNOWN), "{status}");
    }
}

#[test]
fn silence_ends_it() {
    for (status, text) in [
        (S::PreparingForInstallation, info::PREPARATION_DISCONNECTED),
        (S::PreparingSuccessful, info::PREPARATION_DISCONNECTED),
        (S::PreparingFailed, info::DISCONNECTED),
    ] {
        let mut facts = host_in(status, C::PreparingForInstallation);
        facts.changes_after(180);
        assert_eq!(facts.status_and_info(), (S::Disconnected, text));
        assert!(crate::state::host::check_in::wakes_on_check_in(&facts.hosts[0]));
    }
}
