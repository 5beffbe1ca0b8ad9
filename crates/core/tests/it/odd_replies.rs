//! Answers that are odd and harm nobody are taken, whatever the step; what else they tell is not lost with what is odd.

use assisted_core::model::refusal::RefusalKind;
use assisted_core::model::report::ReportKind;
use assisted_wire::step::{StepReply, StepType};
use serde_json::{Value, json};

use crate::world::{World, cluster, inventory};

const NODE: &str = "00000000-0000-0000-0000-000000000009";

/// A host of a cluster with VIPs.
fn world() -> World {
    let mut world = World::new(Some(cluster(&json!({"api_vips": [{"ip": "192.168.124.3"}]}))));
    world.register(1).unwrap();
    world
}

/// What a step's answer is kept as, and what it looks like when nothing is odd.
fn kept(step: StepType, output: &Value) -> (Value, Vec<String>) {
    let mut world = world();
    let effect = world.reply(1, step, output).unwrap_or_else(|refusal| panic!("{step} {output}: {refusal}"));
    let kind = match step {
        StepType::Inventory => ReportKind::Inventory,
        StepType::ConnectivityCheck => ReportKind::Connectivity,
        StepType::ApiVipConnectivityCheck => ReportKind::ApiVipConnectivity,
        StepType::TangConnectivityCheck => ReportKind::TangConnectivity,
        StepType::DomainResolution => ReportKind::DomainNameResolutions,
        StepType::FreeNetworkAddresses => ReportKind::FreeAddresses,
        StepType::NtpSynchronizer => ReportKind::NtpSources,
        StepType::InstallationDiskSpeedCheck => ReportKind::DisksInfo,
        StepType::ContainerImageAvailability => ReportKind::ImagesStatus,
        _ => return (Value::Null, effect.notes),
    };
    let report = serde_json::from_str(world.find(1).unwrap().report(kind));
    (report.unwrap_or_default(), effect.notes)
}

#[test]
fn odd_parts_are_set_aside() {
    let resolved = |v4: Value, v6: Value| json!({"resolutions": [{"domain_name": "api.c", "ipv4_addresses": v4, "ipv6_addresses": v6, "cnames": null}]});
    let list = |name: &str, items: Value| json!({ name: items });
    for (step, odd, expected, notes) in [
        (
            StepType::DomainResolution,
            resolved(json!(["1.2.3.4/24", "", null, "nowhere"]), json!(["fd00::1/64", "1.2.3.4"])),
            resolved(json!(["1.2.3.4"]), json!(["fd00::1"])),
            vec!["\"nowhere\" is no Ipv4Addr", "\"1.2.3.4\" is no Ipv6Addr"],
        ),
        (
            StepType::DomainResolution,
            json!({"resolutions": [null, {}, {"domain_name": null, "cnames": [null, "c."], "ttl": 5}], "took": 1.5}),
            json!({"resolutions": [
                {"domain_name": "", "ipv4_addresses": null, "ipv6_addresses": null, "cnames": null},
                {"domain_name": "", "ipv4_addresses": null, "ipv6_addresses": null, "cnames": ["c."]},
            ]}),
            vec![],
        ),
        (StepType::DomainResolution, json!({"resolutions": null}), list("resolutions", json!([])), vec![]),
        (
            StepType::FreeNetworkAddresses,
            json!([null, {"network": "10.0.0.0/24", "free_addresses": ["10.0.0.1/32", "10.0.0.x", null], "took": 1}]),
            json!([{"network": "10.0.0.0/24", "free_addresses": ["10.0.0.1"]}]),
            vec!["\"10.0.0.x\" is no Ipv4Addr"],
        ),
        (
            StepType::ConnectivityCheck,
            json!({"remote_hosts": [{"host_id": "nobody", "l2_connectivity": [null, {"successful": null}]}, null], "x": []}),
            json!({"remote_hosts": [{"l2_connectivity": [{}], "l3_connectivity": null, "mtu_report": null}]}),
            vec!["\"nobody\" is no HostId"],
        ),
        (
            StepType::ConnectivityCheck,
            json!({"remote_hosts": [{"host_id": NODE, "l3_connectivity": [{"remote_ip_address": "", "average_rtt_ms": null}]}]}),
            json!({"remote_hosts": [{"host_id": NODE, "l2_connectivity": null, "l3_connectivity": [{}], "mtu_report": null}]}),
            vec![],
        ),
        (
            StepType::NtpSynchronizer,
            json!({"ntp_sources": [{"source_name": "a", "source_state": "confused"}, {"source_name": null, "source_state": ""}]}),
            json!([{"source_name": "a"}, {}]),
            vec!["\"confused\" is no SourceState"],
        ),
        (
            StepType::ApiVipConnectivityCheck,
            json!({"is_success": null, "url": "u", "ignition": null, "more": {"a": [1]}}),
            json!({"url": "u"}),
            vec![],
        ),
        (
            StepType::TangConnectivityCheck,
            json!({"is_success": true, "tang_server_response": [null, {"tang_url": null, "signatures": [null, {}]}]}),
            json!({"is_success": true, "tang_server_response": [{"signatures": [{}]}]}),
            vec![],
        ),
        (
            StepType::InstallationDiskSpeedCheck,
            json!({"path": "/dev/sda", "io_sync_duration": 4.7, "jobs": null}),
            json!({"/dev/sda": {"path": "/dev/sda", "disk_speed": {"tested": true, "speed_ms": 4}}}),
            vec!["\"4.7\" is no i64"],
        ),
        (
            StepType::ContainerImageAvailability,
            json!({"images": [null, {"name": "a/b:1", "result": "slow", "size_bytes": null, "digest": "x"}]}),
            json!({"a/b:1": {"name": "a/b:1"}}),
            vec!["\"slow\" is no ContainerImageAvailabilityResult"],
        ),
        (StepType::ContainerImageAvailability, json!({"images": null}), json!({}), vec![]),
        (
            StepType::VerifyVips,
            json!([null, {"vip": null, "vip_type": "egress", "verification": ""}, {"vip": "192.168.124.3", "vip_type": "api", "verification": "perhaps"}]),
            Value::Null,
            vec!["\"egress\" is no VipType", "\"perhaps\" is no VipVerification"],
        ),
        (
            StepType::UpgradeAgent,
            json!({"agent_image": null, "result": "partly", "more": 1}),
            Value::Null,
            vec!["\"partly\" is no UpgradeAgentResult"],
        ),
    ] {
        assert_eq!(
            kept(step, &odd),
            (expected, notes.into_iter().map(str::to_owned).collect()),
            "{step} {odd}"
        );
    }
}

#[test]
fn an_odd_inventory_is_that_of_the_machine_all_the_same() {
    let sound = inventory(1);
    let expected = kept(StepType::Inventory, &sound);
    let mut odd = sound.clone();
    odd["serial_console"] = json!({"speed": 115_200});
    odd["gpus"] = json!([null]);
    odd["tpm_version"] = json!("3.0");
    odd["truncation"] = json!({"type": "a bit", "reasons": ["many disks"]});
    odd["boot"] = json!({"current_boot_mode": null, "secure_boot_state": "Perhaps", "device_type": "", "command_line": null});
    odd["disks"][0]["holders"] = Value::Null;
    odd["disks"][0]["partition_count"] = json!(3);
    odd["interfaces"][0]["mtu"] = json!(u64::MAX);
    odd["interfaces"].as_array_mut().unwrap().push(Value::Null);
    odd["routes"] = json!([{"interface": "eth0", "metric": 4_294_967_295_u32, "family": null}]);
    odd["memory"]["physical_bytes_method"] = json!("guess");
    let (report, notes) = kept(StepType::Inventory, &odd);
    for odd in ["18446744073709551615", "guess", "4294967295", "3.0", "Perhaps", "a bit"] {
        assert!(notes.iter().any(|note| note.starts_with(&format!("{odd:?} is no "))), "{odd}: {notes:?}");
    }
    assert_eq!(notes.len(), 6, "{notes:?}");
    for part in ["hostname", "disks", "cpu", "system_vendor"] {
        assert_eq!(report[part], expected.0[part], "{part}");
    }
    assert_eq!(report["interfaces"][0]["ipv4_addresses"], expected.0["interfaces"][0]["ipv4_addresses"]);
    assert_eq!(
        report["interfaces"].as_array().map(Vec::len),
        expected.0["interfaces"].as_array().map(Vec::len)
    );
    assert_eq!(report["routes"], json!([{"interface": "eth0", "metric": i32::MAX}]));
    for gone in ["serial_console", "tpm_version", "truncation"] {
        assert!(report.get(gone).is_none(), "{gone}");
    }
}

#[test]
fn leases_may_be_written_with_a_prefix_length() {
    let own = json!({"api_vips": [{"ip": "192.168.126.3"}], "vip_dhcp_allocation": true,
        "machine_networks": [{"cidr": "192.168.126.0/24"}]});
    let mut world = World::new(Some(cluster(&own)));
    world.register(1).unwrap();
    let output = json!({"api_vip_address": "192.168.126.100/24", "ingress_vip_address": "192.168.126.101/32",
        "api_vip_lease": null, "server": "192.168.126.1"});
    let effect = world.reply(1, StepType::DhcpLeaseAllocate, &output).unwrap();
    let vips = effect.decision.cluster.unwrap().cluster;
    assert_eq!(vips.api_vips.unwrap()[0].ip.0, "192.168.126.100");
    assert_eq!(vips.ingress_vips.unwrap()[0].ip.0, "192.168.126.101");
}

/// Answers whose text nobody reads, and those that name no step.
#[test]
fn what_is_said_besides_does_not_matter() {
    for step in [
        StepType::Execute,
        StepType::Install,
        StepType::StopInstallation,
        StepType::LogsGather,
        StepType::NextStepRunner,
        StepType::RebootForReclaim,
        StepType::DownloadBootArtifacts,
    ] {
        for output in ["", "null", "[", "Successfully downloaded boot artifacts", "\0\u{1b}[2J"] {
            let answer =
                StepReply { step_type: Some(step), output: output.to_owned(), ..StepReply::default() };
            let effect = world().answer(1, &answer).unwrap_or_else(|refusal| panic!("{step}: {refusal}"));
            assert_eq!(effect.notes, Vec::<String>::new(), "{step}");
        }
    }
    for exit_code in [0, 1, -1, 256, i64::MAX] {
        let answer =
            StepReply { exit_code, output: "[".to_owned(), error: "x".to_owned(), ..StepReply::default() };
        let effect = world().answer(1, &answer).unwrap();
        assert_eq!(effect.notes, ["it names no step"], "{exit_code}");
        // A loss of the media is told by the code alone.
        assert_eq!(!effect.decision.hosts.is_empty(), exit_code == 256, "{exit_code}");
    }
    let failed = |step| StepReply {
        step_type: Some(step),
        exit_code: 1,
        output: "{]".to_owned(),
        ..StepReply::default()
    };
    for step in StepType::ALL {
        assert!(world().answer(1, &failed(*step)).is_ok(), "{step}");
    }
}

#[test]
fn what_is_not_the_form_of_an_answer_is_refused() {
    let deep = format!("{}{}", r#"{"a":"#.repeat(200), "1".to_owned() + &"}".repeat(200));
    let addresses =
        |items: &str| format!(r#"{{"resolutions":[{{"domain_name":"a","ipv4_addresses":{items}}}]}}"#);
    for (step, output) in [
        (StepType::Inventory, r#"{"disks":{}}"#.to_owned()),
        (StepType::Inventory, r#"{"disks":[5]}"#.to_owned()),
        (StepType::Inventory, r#"{"hostname":["a"]}"#.to_owned()),
        (StepType::Inventory, r#"{"cpu":"fast"}"#.to_owned()),
        (StepType::Inventory, r#"{"memory":{"usable_bytes":"64"}}"#.to_owned()),
        (StepType::Inventory, r#"{"memory":{"usable_bytes":1e999}}"#.to_owned()),
        (StepType::Inventory, format!(r#"{{"hostname":{deep}}}"#)),
        (StepType::Inventory, format!(r#"{{"hostname":null,"disks":[{{"holders":{deep}}}]}}"#)),
        (StepType::Inventory, "{} {}".to_owned()),
        (StepType::ConnectivityCheck, r#"{"remote_hosts":"all"}"#.to_owned()),
        (StepType::ConnectivityCheck, r#"{"remote_hosts":[{"host_id":5}]}"#.to_owned()),
        (StepType::DomainResolution, addresses("\"1.2.3.4\"")),
        (StepType::DomainResolution, addresses("[1]")),
        (StepType::DomainResolution, addresses("[[\"1.2.3.4\"]]")),
        (StepType::DomainResolution, r#"{"resolutions":["a"]}"#.to_owned()),
        (StepType::FreeNetworkAddresses, r#"[{"free_addresses":{}}]"#.to_owned()),
        (StepType::FreeNetworkAddresses, "{}".to_owned()),
        (StepType::VerifyVips, "[5]".to_owned()),
        (StepType::VerifyVips, "{}".to_owned()),
        (StepType::NtpSynchronizer, r#"{"ntp_sources":[{"source_state":1}]}"#.to_owned()),
        (StepType::ApiVipConnectivityCheck, r#"{"ignition":{}}"#.to_owned()),
        (StepType::TangConnectivityCheck, r#"{"tang_server_response":[{"signatures":"s"}]}"#.to_owned()),
        (StepType::UpgradeAgent, r#"{"result":true}"#.to_owned()),
        (StepType::DhcpLeaseAllocate, r#"{"api_vip_address":"10.0.0.1"}"#.to_owned()),
        (
            StepType::DhcpLeaseAllocate,
            r#"{"api_vip_address":"x","ingress_vip_address":"10.0.0.1"}"#.to_owned(),
        ),
        (StepType::InstallationDiskSpeedCheck, r#"{"path":5}"#.to_owned()),
        (StepType::ContainerImageAvailability, r#"{"images":[{"name":{}}]}"#.to_owned()),
    ] {
        let answer = StepReply { step_type: Some(step), output: output.clone(), ..StepReply::default() };
        let refusal = world().answer(1, &answer).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Invalid, "{step} {output:.60}: {refusal}");
        assert!(refusal.reason.len() < 400, "{refusal}");
    }
    // What is deep and unknown is passed over, step by step.
    let answer = StepReply { step_type: Some(StepType::Inventory), output: deep, ..StepReply::default() };
    assert_eq!(world().answer(1, &answer).unwrap().notes, Vec::<String>::new());
}
