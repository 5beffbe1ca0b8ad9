//! What users change of a host, and what they can't.

use assisted_core::decide::host::reset::reset_host;
use assisted_core::decide::host::update::update_host;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_wire::host::{HostKind, HostRole, HostStatus};
use assisted_wire::host_params::HostUpdateParams;
use serde_json::{Value, json};

use crate::world::{World, cluster, inventory, key, names};

fn world() -> World {
    let mut world = World::new(Some(cluster(&json!({}))));
    world.bring(1);
    let mut disks = inventory(1);
    let mut second = disks["disks"][0].clone();
    (second["id"], second["name"]) = (json!("/dev/disk/by-id/wwn-2"), json!("sdb"));
    disks["disks"].as_array_mut().unwrap().push(second);
    disks["disks"].as_array_mut().unwrap().push(json!({"id": "small", "name": "sdc", "size_bytes": 1}));
    world.reply(1, assisted_wire::step::StepType::Inventory, &disks).unwrap();
    world.refresh();
    world
}

fn update(world: &mut World, params: &Value) -> Result<(), Refusal> {
    let params: HostUpdateParams = serde_json::from_value(params.clone()).unwrap();
    let outcome = update_host(&world.facts, key(1), &params)?;
    world.write(outcome.hosts, None);
    world.refresh();
    Ok(())
}

#[test]
fn all_at_once() {
    let mut world = world();
    update(
        &mut world,
        &json!({
            "host_role": "worker", "host_name": "renamed",
            "disks_selected_config": [{"id": "/dev/disk/by-id/wwn-2", "role": "install"}],
            "machine_config_pool_name": "pool", "ignition_endpoint_token": "t",
            "ignition_endpoint_http_headers": [{"key": "b", "value": "2"}, {"key": "a", "value": "1"}],
            "node_labels": [{"key": "k", "value": "v"}],
            "disks_skip_formatting": [{"disk_id": "/dev/disk/by-id/wwn-1", "skip_formatting": true}],
        }),
    )
    .unwrap();
    let record = &world.find(1).unwrap().record;
    let host = &record.host;
    assert_eq!((host.role, host.suggested_role), (Some(HostRole::Worker), Some(HostRole::Worker)));
    assert_eq!(host.requested_hostname, "renamed");
    assert_eq!(
        (host.installation_disk_id.as_str(), host.installation_disk_path.as_str()),
        ("/dev/disk/by-id/wwn-2", "/dev/sdb")
    );
    assert_eq!(host.machine_config_pool_name, "pool");
    assert!(host.ignition_endpoint_token_set);
    assert_eq!(record.ignition_endpoint_http_headers, r#"{"a":"1","b":"2"}"#);
    assert_eq!(host.node_labels, r#"{"k":"v"}"#);
    assert_eq!(host.skip_formatting_disks, "/dev/disk/by-id/wwn-1");
    update(
        &mut world,
        &json!({"disks_selected_config": [], "ignition_endpoint_token": "",
                "disks_skip_formatting": [{"disk_id": "/dev/disk/by-id/wwn-1", "skip_formatting": false}]}),
    )
    .unwrap();
    let host = world.host(1);
    assert_eq!(host.installation_disk_id, "/dev/disk/by-id/wwn-1", "the best one again");
    assert!(!host.ignition_endpoint_token_set && host.skip_formatting_disks.is_empty());
}

#[test]
fn refusals() {
    let mut world = world();
    let install = |ids: &[&str]| -> Value {
        let disks: Vec<_> = ids.iter().map(|id| json!({"id": id, "role": "install"})).collect();
        json!({"disks_selected_config": disks})
    };
    for (params, kind, reason) in [
        (
            install(&["small"]),
            RefusalKind::Conflict,
            "Requested installation disk is not part of the host's valid disks",
        ),
        (
            install(&["none"]),
            RefusalKind::Conflict,
            "Requested installation disk is not part of the host's valid disks",
        ),
        (install(&["a", "b"]), RefusalKind::Conflict, "duplicate setting of installation path by the user"),
        (json!({"host_name": "localhost"}), RefusalKind::Invalid, "The host name localhost is forbidden"),
        (
            json!({"host_name": "$(reboot)"}),
            RefusalKind::Invalid,
            "Hostname does not pass required regex validation",
        ),
        (
            json!({"node_labels": [{"key": "", "value": ""}]}),
            RefusalKind::Invalid,
            "node_labels: Invalid value: ",
        ),
        (
            json!({"disks_skip_formatting": [{"disk_id": "x", "skip_formatting": true}]}),
            RefusalKind::Invalid,
            "Disk identifier x doesn't match any disk in the inventory, it cannot be skipped. Inventory disk identifiers are: /dev/disk/by-id/wwn-1, /dev/disk/by-id/wwn-2, small",
        ),
        (json!({"host_role": "arbiter"}), RefusalKind::Invalid, "Cannot set role arbiter to host"),
        (
            json!({"fencing_credentials": {"address": "a", "username": "u", "password": "p"}}),
            RefusalKind::Invalid,
            "TNF clusters support is disabled, cannot set fencing credentials to host",
        ),
    ] {
        let before = world.find(1).unwrap().record.clone();
        let refusal = update(&mut world, &params).unwrap_err();
        assert_eq!(refusal.kind, kind, "{params}");
        assert!(refusal.reason.starts_with(reason), "{}", refusal.reason);
        assert_eq!(world.find(1).unwrap().record, before);
    }
}

#[test]
fn once_the_installation_began() {
    let mut world = world();
    world.facts.hosts[0].record.host.status = HostStatus::Installing;
    for (params, kind, what) in [
        (json!({"host_role": "worker"}), RefusalKind::Internal, "host role"),
        (json!({"host_name": "a"}), RefusalKind::Conflict, "host name"),
        (json!({"disks_selected_config": []}), RefusalKind::Conflict, "installation disk path"),
        (json!({"machine_config_pool_name": "a"}), RefusalKind::Conflict, "host machine config pool"),
        (json!({"ignition_endpoint_token": "a"}), RefusalKind::Conflict, "host ignition endpoint token"),
        (
            json!({"ignition_endpoint_http_headers": []}),
            RefusalKind::Internal,
            "ignition endpoint HTTP headers",
        ),
        (json!({"node_labels": []}), RefusalKind::Internal, "labels"),
        (json!({"disks_skip_formatting": []}), RefusalKind::Internal, "skip disk formatting"),
    ] {
        let refusal = update(&mut world, &params).unwrap_err();
        assert_eq!(refusal.kind, kind, "{params}");
        assert_eq!(
            refusal.reason,
            format!(
                "Host is in installing state, {what} can be set only in one of [discovering known disconnected insufficient pending-for-input] states"
            )
        );
    }
    let empty = update(&mut world, &json!({})).unwrap_err();
    assert_eq!(empty.kind, RefusalKind::Conflict);
    assert!(empty.reason.starts_with("Host is in installing state, host can be updated only in one of"));
}

#[test]
fn hosts_that_join_an_installed_cluster() {
    let mut world = World::new(Some(cluster(&json!({"kind": "AddHostsCluster", "status": "adding-hosts"}))));
    world.bring(1);
    world.refresh();
    update(&mut world, &json!({"host_role": "master"})).unwrap();
    assert_eq!(world.host(1).machine_config_pool_name, "master", "follows the role");
    update(&mut world, &json!({"machine_config_pool_name": "own"})).unwrap();
    update(&mut world, &json!({"host_role": "worker"})).unwrap();
    assert_eq!(world.host(1).machine_config_pool_name, "own");

    world.facts.hosts[0].record.host.status = HostStatus::Known;
    let outcome = reset_host(&world.facts.hosts[0], world.facts.now).unwrap();
    assert_eq!(names(&outcome.events), ["host_status_updated", "host_installation_reset"]);
    world.write(outcome.hosts, None);
    assert_eq!(world.status(1), HostStatus::ResettingPendingUserAction);
    world.register(1).unwrap();
    assert_eq!(world.status(1), HostStatus::Discovering);
    world.facts.hosts[0].record.host.status = HostStatus::Disconnected;
    let refused = reset_host(&world.facts.hosts[0], world.facts.now).unwrap_err();
    assert_eq!(
        (refused.refusal.kind, names(&refused.events)),
        (RefusalKind::Conflict, vec!["host_installation_reset_failed"])
    );
    world.facts.hosts[0].record.host.kind = HostKind::Host;
    assert_eq!(
        reset_host(&world.facts.hosts[0], world.facts.now).unwrap_err().refusal.kind,
        RefusalKind::Conflict
    );
}
