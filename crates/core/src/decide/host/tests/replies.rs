//! Answers to the steps of an installation (agent-protocol §2.3).

use crate::model::refusal::RefusalKind;
use assisted_wire::cluster::ClusterStatus as C;
use assisted_wire::host::{HostStatus as S, MediaStatus};
use assisted_wire::probe_responses::{
    ContainerImageAvailability, ContainerImageAvailabilityResult as Pulled,
};
use assisted_wire::step::StepType::{
    ContainerImageAvailability as Images, DhcpLeaseAllocate, Install, InstallationDiskSpeedCheck as Speed,
    LogsGather, StopInstallation,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::*;
use crate::model::disk::speed_of;
use crate::model::report::ReportKind;
use crate::state::host::status_info as info;

fn preparing() -> Facts {
    host_in(S::PreparingForInstallation, C::PreparingForInstallation)
}

fn refused(facts: &Facts, step: StepType, output: &Value) -> RefusalKind {
    let answer = StepReply { step_type: Some(step), output: output.to_string(), ..StepReply::default() };
    reply::reply(facts, facts.hosts[0].key(), &answer).unwrap_err().kind
}

#[test]
fn a_slow_disk_is_told_of_and_used() {
    for (millis, told) in [(10, vec![]), (11, vec!["disk_speed_slower_than_supported"])] {
        let mut facts = preparing();
        let output = json!({"io_sync_duration": millis, "path": DISK}).to_string();
        let events = facts.answer(Speed, 0, &output, "");
        assert_eq!(names(&events), told);
        let speed = speed_of(facts.hosts[0].report(ReportKind::DisksInfo), DISK).unwrap();
        assert_eq!((speed.tested, speed.exit_code, speed.speed_ms), (true, 0, millis));
    }
}

#[test]
fn a_disk_that_can_not_be_measured() {
    let mut facts = preparing();
    assert!(facts.answer(Speed, 0, "", "").is_empty());
    facts.answer(Speed, 124, "", "timed out");
    facts.answer(Speed, 1, "nonsense", "");
    assert_eq!(facts.hosts[0].report(ReportKind::DisksInfo), "", "asked again");
    assert_eq!(refused(&facts, Speed, &json!({"io_sync_duration": 1})), RefusalKind::Invalid);
    facts.answer(Speed, 1, &json!({"path": DISK}).to_string(), "no fio");
    let speed = speed_of(facts.hosts[0].report(ReportKind::DisksInfo), DISK).unwrap();
    assert_eq!((speed.tested, speed.exit_code), (true, 1));
}

#[test]
fn no_more_disks_than_a_machine_has() {
    let mut facts = preparing();
    for number in 0..256 {
        facts.answer(Speed, 0, &json!({"path": format!("/dev/x{number}")}).to_string(), "");
    }
    assert_eq!(refused(&facts, Speed, &json!({"path": "/dev/y"})), RefusalKind::Invalid);
    assert!(speed_of(facts.hosts[0].report(ReportKind::DisksInfo), "/dev/y").is_none());
}

#[test]
fn images_keep_what_was_measured_first() {
    let mut facts = preparing();
    let first = json!({"images": [
        {"name": "a/b:1", "result": "success", "size_bytes": 419_430_400, "time": 12.5, "download_rate": 32},
        {"name": "c/d:1", "result": "failure"},
    ]});
    let events = facts.answer(Images, 2, &first.to_string(), "");
    let texts: Vec<_> = events.iter().map(|event| event.message.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Host host-1: New image status a/b:1. result: success. time: 12.50 seconds; size: 400.00 Megabytes; download rate: 32.00 MBps",
            "Host host-1: New image status c/d:1. result: failure. ",
        ]
    );
    let again =
        json!({"images": [{"name": "a/b:1", "result": "failure"}, {"name": "c/d:1", "result": "success"}]});
    assert!(facts.answer(Images, 0, &again.to_string(), "").is_empty());
    let kept: BTreeMap<String, ContainerImageAvailability> =
        serde_json::from_str(facts.hosts[0].report(ReportKind::ImagesStatus)).unwrap();
    assert_eq!(kept["a/b:1"].size_bytes, 419_430_400.0);
    assert_eq!(kept["a/b:1"].result, Some(Pulled::Failure));
    assert_eq!(kept["c/d:1"].result, Some(Pulled::Success));

    let mut silent = preparing();
    assert!(silent.answer(Images, 0, "", "").is_empty());
    let flood: Vec<_> = (0..65).map(|number| json!({"name": number.to_string()})).collect();
    assert_eq!(refused(&silent, Images, &json!({"images": flood})), RefusalKind::Invalid);
    assert!(silent.answer(Images, 2, &json!({"images": flood}).to_string(), "").is_empty());
    assert_eq!(silent.hosts[0].report(ReportKind::ImagesStatus), "");
}

#[test]
fn an_installer_that_does_not_start() {
    for (status, expected) in [
        (S::Installing, S::Error),
        (S::InstallingInProgress, S::Error),
        (S::InstallingPendingUserAction, S::InstallingPendingUserAction),
        (S::Known, S::Known),
    ] {
        let mut facts = host_in(status, C::Installing);
        facts.answer(Install, 2, "", "no image");
        assert_eq!(facts.first().status, expected);
        if expected == S::Error {
            assert_eq!(facts.first().status_info, info::INSTALL_FAILED);
        }
    }
    let mut facts = host_in(S::Installing, C::Installing);
    let error = "Error: the container name \"assisted-installer\" is already in use by 12ab";
    assert!(facts.answer(Install, 125, "", error).is_empty());
    assert_eq!(facts.first().status, S::Installing);
    facts.answer(Install, 125, "", "other");
    assert_eq!(facts.first().status, S::Error);
}

#[test]
fn lost_media_end_an_installation() {
    let mut facts = host_in(S::InstallingInProgress, C::Installing)
        .with_host(|host| "Rebooting".clone_into(&mut host.record.host.status_info));
    let events = facts.answer(LogsGather, 256, "", "");
    let text = format!("Failed - {}. Rebooting", info::MEDIA);
    assert_eq!(facts.status_and_info(), (S::Error, text.as_str()));
    assert_eq!(names(&events), ["host_status_updated", "host_media_disconnected"]);
    assert!(facts.answer(StopInstallation, 256, "", "").is_empty(), "told once");
    facts.answer(StopInstallation, 0, "", "");
    assert_eq!(facts.first().media_status, Some(MediaStatus::Connected));
}

const LEASE: &str = "lease {\n  fixed-address 10.0.0.9;\n  expire 3 2026/01/01 01:00:00;\n}";

fn leased(api: &str, ingress: &str) -> Value {
    json!({"api_vip_address": api, "ingress_vip_address": ingress, "api_vip_lease": LEASE})
}

#[test]
fn leased_vips() {
    let facts = |status| host_in(S::Known, status).with_cluster(|own| own.vip_dhcp_allocation = Some(true));
    let vips = |facts: &Facts| {
        let cluster = &facts.cluster.as_ref().unwrap().cluster;
        let api = cluster.api_vips.iter().flatten().map(|vip| vip.ip.0.clone());
        api.chain(cluster.ingress_vips.iter().flatten().map(|vip| vip.ip.0.clone()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let output = leased("10.0.0.9", "10.0.0.10");
    for status in [C::PendingForInput, C::Insufficient, C::Ready] {
        let mut facts = facts(status);
        let events = facts.answer(DhcpLeaseAllocate, 0, &output.to_string(), "");
        assert_eq!(vips(&facts), "10.0.0.9 10.0.0.10");
        assert_eq!(events[0].message, "Cluster was updated with api-vip 10.0.0.9, ingress-vip 10.0.0.10");
        let kept = &facts.cluster.as_ref().unwrap().api_vip_lease;
        assert_eq!(kept, "lease {\n  fixed-address 10.0.0.9;\n  expire never;\n}");
        let before = facts.cluster.clone();
        facts.wait(60);
        assert!(facts.answer(DhcpLeaseAllocate, 0, &output.to_string(), "").is_empty());
        assert_eq!(facts.cluster, before, "the same again changes nothing");
    }
    let mut late = facts(C::Ready);
    late.answer(DhcpLeaseAllocate, 0, &output.to_string(), "");
    for status in [C::Installing, C::PreparingForInstallation, C::Finalizing] {
        late.test_cluster().status = status;
        late.answer(DhcpLeaseAllocate, 0, &output.to_string(), "");
        assert_eq!(
            refused(&late, DhcpLeaseAllocate, &leased("10.0.0.11", "10.0.0.10")),
            RefusalKind::Internal
        );
    }
    late.test_cluster().status = C::Installed;
    late.answer(DhcpLeaseAllocate, 0, &leased("10.0.0.11", "10.0.0.10").to_string(), "");
    assert_eq!(vips(&late), "10.0.0.9 10.0.0.10");

    assert_eq!(
        refused(&facts(C::Ready), DhcpLeaseAllocate, &leased("10.0.1.9", "10.0.0.10")),
        RefusalKind::Internal
    );
    assert_eq!(
        refused(&facts(C::Ready), DhcpLeaseAllocate, &json!({"api_vip_address": "10.0.0.9"})),
        RefusalKind::Invalid
    );
    let broken =
        json!({"api_vip_address": "10.0.0.9", "ingress_vip_address": "10.0.0.10", "api_vip_lease": "x"});
    assert_eq!(refused(&facts(C::Ready), DhcpLeaseAllocate, &broken), RefusalKind::Internal);
    assert_eq!(refused(&host_in(S::Known, C::Ready), DhcpLeaseAllocate, &output), RefusalKind::Internal);
}
