//! Hosts: requests from their objects, field by field.

use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kubeapi::Class;
use assisted_kubeapi::host::{HostSpec, Update};
use assisted_wire::host::Host;
use assisted_wire::inventory::Inventory;
use serde_json::{Value, json};

const BMAC: &str = "bmac.agent-install.openshift.io";

fn object(annotations: &Value, hints: &Value) -> BareMetalHost {
    serde_json::from_value(json!({
        "metadata": {"name": "host-0", "namespace": "site", "annotations": annotations,
                     "labels": {"infraenvs.agent-install.openshift.io": "demo"}},
        "spec": {"bootMACAddress": "02:00:00:00:00:0A", "online": true, "rootDeviceHints": hints},
    }))
    .unwrap()
}

fn inventory() -> Inventory {
    let eligible = json!({"eligible": true});
    serde_json::from_value(json!({
        "interfaces": [{"name": "eth0", "mac_address": "02:00:00:00:00:0a"}],
        "disks": [
            {"id": "small", "path": "/dev/sda", "drive_type": "HDD", "size_bytes": 20_000_000_000_i64, "serial": "1",
             "model": "Fast Disk", "vendor": "ACME", "hctl": "0:0:0:0", "wwn": "w", "installation_eligibility": eligible},
            {"id": "big", "path": "/dev/sdb", "by_path": "/dev/disk/by-path/b", "drive_type": "SSD",
             "size_bytes": 200_000_000_000_i64, "installation_eligibility": eligible},
            {"id": "many", "path": "/dev/dm-0", "drive_type": "Multipath", "size_bytes": 200_000_000_000_i64,
             "installation_eligibility": eligible},
            {"id": "bad", "path": "/dev/sdc", "serial": "3", "installation_eligibility": {"eligible": false}},
        ],
    }))
    .unwrap()
}

fn host() -> Host {
    serde_json::from_value(json!({
        "kind": "Host", "id": "5a1d6f34-41a4-4a3b-8a8f-6f8b2bd4a4a1", "href": "", "status": "known", "status_info": "",
        "role": "auto-assign", "requested_hostname": "host-0", "installation_disk_id": "small",
        "installer_args": "[\"--append-karg\",\"a\"]", "node_labels": "{\"a\":\"b\"}",
        "ignition_config_overrides": "{\"ignition\": {\"version\": \"3.1.0\"}}",
    }))
    .unwrap()
}

fn update(annotations: &Value, hints: &Value) -> Update {
    HostSpec::new(&object(annotations, hints)).unwrap().update(&host(), &inventory())
}

#[test]
fn a_host_is_found_by_any_of_its_interfaces() {
    let object = object(&json!({}), &Value::Null);
    let spec = HostSpec::new(&object).unwrap();
    assert_eq!(spec.infra_env(), Some("demo"));
    assert!(spec.is(&inventory()));
    assert!(!spec.is(&Inventory::default()));
}

#[test]
fn what_differs_is_changed_and_nothing_else() {
    for (annotations, expected) in [
        (json!({}), [].as_slice()),
        (json!({format!("{BMAC}/role"): "auto-assign", format!("{BMAC}/hostname"): "host-0"}), &[]),
        (json!({format!("{BMAC}/role"): "master"}), &["role"]),
        (json!({format!("{BMAC}/hostname"): "other"}), &["hostname"]),
        (json!({format!("{BMAC}/machine-config-pool"): "infra"}), &["machine_config_pool_name"]),
        (json!({format!("{BMAC}.node-label.a"): "b"}), &[]),
        (json!({format!("{BMAC}.node-label.c"): "d"}), &["node_labels"]),
        (json!({format!("{BMAC}/installer-args"): r#"["--append-karg", "a"]"#}), &[]),
        (json!({format!("{BMAC}/installer-args"): "[]"}), &["installer_args"]),
        (json!({format!("{BMAC}/ignition-config-overrides"): r#"{"ignition":{"version":"3.1.0"}}"#}), &[]),
        (json!({format!("{BMAC}/ignition-config-overrides"): "{}"}), &["ignition_config_overrides"]),
    ] {
        assert_eq!(update(&annotations, &Value::Null).changed, expected, "{annotations}");
    }
}

#[test]
fn hints_mean_the_disk_on_which_all_of_them_hold() {
    for (hints, expected) in [
        // The one that is chosen stays, if it is meant too.
        (json!({}), None),
        (
            json!({"deviceName": "/dev/sda", "model": "Disk", "vendor": "ACM", "serialNumber": "1", "hctl": "0:0:0:0", "wwn": "w"}),
            None,
        ),
        (json!({"rotational": true}), None),
        (json!({"deviceName": "/dev/disk/by-path/b"}), Some("big")),
        (json!({"minSizeGigabytes": 100}), Some("many")),
        (json!({"minSizeGigabytes": 100, "deviceName": "/dev/sdb"}), Some("big")),
        (json!({"minSizeGigabytes": 201}), Some("/dev/not-found-by-hints")),
        (json!({"serialNumber": "3"}), Some("/dev/not-found-by-hints")),
        (json!({"model": "disk"}), Some("/dev/not-found-by-hints")),
    ] {
        let chosen = update(&json!({}), &hints).params.disks_selected_config;
        assert_eq!(chosen.map(|disks| disks[0].id.clone()).as_deref(), expected, "{hints}");
    }
}

#[test]
fn what_makes_no_sense_is_a_problem() {
    for annotations in
        [json!({format!("{BMAC}/role"): "king"}), json!({format!("{BMAC}/installer-args"): "--a"})]
    {
        assert_eq!(
            HostSpec::new(&object(&annotations, &Value::Null)).unwrap_err().class,
            Class::Input,
            "{annotations}"
        );
    }
    let mut unknown = object(&json!({}), &Value::Null);
    unknown.spec.boot_mac_address.clear();
    assert!(HostSpec::new(&unknown).unwrap_err().text.contains("bootMACAddress"));
    let hub = object(&json!({format!("{BMAC}/cluster-reference"): "a/b"}), &Value::Null);
    assert_eq!(HostSpec::new(&hub).unwrap().without_effect(), [format!("{BMAC}/cluster-reference")]);
}
