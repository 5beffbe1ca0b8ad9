//! What answers change, and which are refused.

use assisted_core::model::refusal::RefusalKind;
use assisted_core::model::report::ReportKind;
use assisted_wire::host::HostStatus;
use assisted_wire::inventory::Inventory;
use assisted_wire::step::{StepReply, StepType};
use serde_json::json;

use crate::world::{World, cluster, inventory, names, time_sources};

fn world() -> World {
    let mut world = World::new(Some(cluster(&json!({"api_vips": [{"ip": "192.168.124.3"}]}))));
    world.register(1).unwrap();
    world
}

#[test]
fn an_inventory_chooses_the_disk() {
    let mut world = world();
    let mut machine = inventory(1);
    machine["unknown"] = json!("dropped");
    machine["interfaces"].as_array_mut().unwrap().push(json!({"name": "veth0", "type": "device"}));
    machine["disks"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "sdb", "size_bytes": 10, "drive_type": "SSD"}));
    world.reply(1, StepType::Inventory, &machine).unwrap();
    let host = world.find(1).unwrap();
    assert_eq!(host.record.host.installation_disk_id, "/dev/disk/by-id/wwn-1");
    assert_eq!(host.record.host.installation_disk_path, "/dev/sda");
    assert_eq!(host.record.host.disks_to_be_formatted, "/dev/disk/by-id/wwn-1");
    let stored: Inventory = serde_json::from_str(host.report(ReportKind::Inventory)).unwrap();
    assert!(!host.report(ReportKind::Inventory).contains("dropped"));
    assert_eq!(stored.interfaces.unwrap().len(), 1);
    let disks = stored.disks.unwrap();
    assert_eq!(disks[1].id, "/dev/sdb");
    assert!(!disks[1].installation_eligibility.eligible);
}

#[test]
fn an_inventory_in_the_wrong_state() {
    let mut world = world();
    world.facts.hosts[0].record.host.status = HostStatus::Installing;
    let refusal = world.reply(1, StepType::Inventory, &inventory(1)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Internal);
    assert!(
        refusal
            .reason
            .starts_with("Host is in installing state, host can be updated only in one of [discovering")
    );
}

#[test]
fn outputs_that_can_not_be_read() {
    let mut world = world();
    let steps = [
        StepType::Inventory,
        StepType::ConnectivityCheck,
        StepType::NtpSynchronizer,
        StepType::DomainResolution,
        StepType::FreeNetworkAddresses,
        StepType::VerifyVips,
        StepType::UpgradeAgent,
        StepType::TangConnectivityCheck,
        StepType::ApiVipConnectivityCheck,
    ];
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for step in steps {
        for output in ["not json", "7", "[1]", &deep, "{\"a\":"] {
            let reply =
                StepReply { step_type: Some(step), output: output.to_owned(), ..StepReply::default() };
            assert_eq!(
                world.answer(1, &reply).unwrap_err().kind,
                RefusalKind::Invalid,
                "{step}: {output:.20}"
            );
        }
    }
    let empty = world.reply(1, StepType::FreeNetworkAddresses, &json!([])).unwrap_err();
    assert_eq!(empty.kind, RefusalKind::Internal);
}

#[test]
fn failures_change_nothing() {
    let mut world = world();
    world.reply(1, StepType::NtpSynchronizer, &time_sources()).unwrap();
    for step in StepType::ALL.iter().filter(|step| **step != StepType::TangConnectivityCheck) {
        let reply =
            StepReply { step_type: Some(*step), exit_code: -1, output: "x".to_owned(), ..Default::default() };
        assert!(world.answer(1, &reply).unwrap().decision.is_empty(), "{step}");
    }
    let tang = StepReply {
        step_type: Some(StepType::TangConnectivityCheck),
        exit_code: -1,
        error: "no route".to_owned(),
        ..Default::default()
    };
    world.answer(1, &tang).unwrap();
    assert_eq!(world.find(1).unwrap().report(ReportKind::TangConnectivity), "no route");
}

#[test]
fn reports_are_written_anew() {
    let mut world = world();
    let report =
        json!({"remote_hosts": [{"host_id": "00000000-0000-0000-0000-000000000009", "x": 1}], "y": 2});
    world.reply(1, StepType::ConnectivityCheck, &report).unwrap();
    assert_eq!(
        world.find(1).unwrap().report(ReportKind::Connectivity),
        r#"{"remote_hosts":[{"host_id":"00000000-0000-0000-0000-000000000009","l2_connectivity":null,"l3_connectivity":null,"mtu_report":null}]}"#
    );
    world.reply(1, StepType::NtpSynchronizer, &time_sources()).unwrap();
    assert_eq!(
        world.find(1).unwrap().report(ReportKind::NtpSources),
        r#"[{"source_name":"time.example.com","source_state":"synced"}]"#
    );
}

#[test]
fn vips_are_verified() {
    let mut world = world();
    let found = json!([{"vip": "192.168.124.3", "vip_type": "api", "verification": "succeeded"},
                       {"vip": "192.168.124.5", "vip_type": "ingress", "verification": "failed"}]);
    assert!(world.reply(1, StepType::VerifyVips, &found).unwrap().decision.cluster.is_some());
    assert!(world.reply(1, StepType::VerifyVips, &found).unwrap().decision.is_empty());
    let mut pool = World::new(None);
    pool.register(1).unwrap();
    assert_eq!(pool.reply(1, StepType::VerifyVips, &found).unwrap_err().kind, RefusalKind::Internal);
}

#[test]
fn agents_are_replaced() {
    let mut world = world();
    for (result, name) in [("success", "upgrade_agent_finished"), ("failure", "upgrade_agent_failed")] {
        let told =
            world.reply(1, StepType::UpgradeAgent, &json!({"agent_image": "i", "result": result})).unwrap();
        assert_eq!(names(&told.decision.events), [name]);
    }
    assert!(
        world.reply(1, StepType::UpgradeAgent, &json!({"agent_image": "i"})).unwrap().decision.is_empty()
    );
}
