//! `assisted infra-env …`: what concerns images.

use serde_json::{Value, json};

use crate::service::{Service, text};

/// A JSON text inside JSON.
fn inner(infra_env: &Value, field: &str) -> Value {
    serde_json::from_str(infra_env[field].as_str().unwrap_or("null")).unwrap()
}

#[test]
fn an_image_is_described_at_creation_and_later() {
    let service = Service::start();
    let write = |name: &str, content: &str| std::fs::write(service.dir.path().join(name), content).unwrap();
    write("networks.yaml", include_str!("../../../../docs/examples/static-networks.yaml"));
    write("override.ign", r#"{"ignition":{"version":"3.1.0"}}"#);
    let create = [
        ["infra-env", "create", "lab"].as_slice(),
        &["--pull-secret-file", "pull-secret.json", "--image-type", "minimal-iso", "--network-delay", "7"],
        &["--kernel-argument", "console=ttyS0", "--kernel-argument", "quiet"],
        &["--static-network-file", "networks.yaml", "--ignition-override-file", "override.ign"],
    ]
    .concat();
    let made = service.json(&create);
    assert_eq!(made["type"], "minimal-iso");
    assert_eq!(made["network_discovery_delay_seconds"], 7);
    assert!(made["download_url"].as_str().unwrap().ends_with("/minimal.iso"), "{made:#}");
    let append = |value: &str| json!({"operation": "append", "value": value});
    assert_eq!(inner(&made, "kernel_arguments"), json!([append("console=ttyS0"), append("quiet")]));
    assert_eq!(inner(&made, "static_network_config").as_array().unwrap().len(), 1, "{made:#}");
    assert_eq!(inner(&made, "ignition_config_override")["ignition"]["version"], "3.1.0");

    let one = "- mac_interface_map: [{mac_address: '52:54:00:00:00:09', logical_nic_name: nic0}]\n  \
               network_yaml: 'interfaces: [{name: nic0, type: ethernet, state: up}]'\n";
    write("one.yaml", one);
    let update = ["infra-env", "update", "lab", "--image-type", "full-iso", "--kernel-argument", "rd.debug"];
    let changed = service.json(&[&update[..], &["--static-network-file", "one.yaml"]].concat());
    assert!(changed["download_url"].as_str().unwrap().ends_with("/full.iso"), "{changed:#}");
    assert_eq!(inner(&changed, "kernel_arguments"), json!([append("rd.debug")]));
    let networks = inner(&changed, "static_network_config");
    assert_eq!(networks[0]["mac_interface_map"][0]["mac_address"], "52:54:00:00:00:09", "{changed:#}");
    // What is not mentioned stays.
    assert_eq!(changed["network_discovery_delay_seconds"], 7);
    assert_eq!(inner(&changed, "ignition_config_override")["ignition"]["version"], "3.1.0");
    let same = service.json(&["infra-env", "update", "lab", "--ntp-source", "clock.example.com"]);
    for field in ["type", "kernel_arguments", "static_network_config"] {
        assert_eq!(same[field], changed[field], "{field}");
    }
}

#[test]
fn an_image_for_a_cluster_has_its_version() {
    let service = Service::start();
    let secret = ["--pull-secret-file", "pull-secret.json"];
    let cluster = ["cluster", "create", "old", "--openshift-version", "4.18", "--base-domain", "example.com"];
    let cluster = service.json(&[&cluster[..], &secret].concat());
    assert!(cluster["openshift_version"].as_str().unwrap().starts_with("4.18."), "{cluster:#}");
    let create = |name: &str, more: &[&str]| {
        service.json(&[&["infra-env", "create", name], &secret[..], more].concat())["openshift_version"]
            .clone()
    };
    assert_eq!(create("own", &["--cluster", "old"]), "4.18");
    assert_eq!(create("other", &["--cluster", "old", "--openshift-version", "4.20"]), "4.20");
    let newest = create("pool", &[]);
    assert!(newest != "4.18" && newest != "4.20", "{newest}");
}

#[test]
fn what_can_t_be_used_is_told_with_its_file() {
    let service = Service::start();
    service.id(&["infra-env", "create", "lab", "--pull-secret-file", "pull-secret.json"]);
    let no_mac = "- mac_interface_map: [{mac_address: '', logical_nic_name: nic0}]\n  network_yaml: 'interfaces: []'\n";
    for (name, content) in [("map.yaml", "interfaces: []"), ("broken.yaml", "- ["), ("no-mac.yaml", no_mac)] {
        std::fs::write(service.dir.path().join(name), content).unwrap();
    }
    for (more, code, expected) in [
        (["--static-network-file", "missing.yaml"], 2, "missing.yaml"),
        (["--static-network-file", "map.yaml"], 2, "map.yaml is not a list of hosts"),
        (["--static-network-file", "broken.yaml"], 2, "broken.yaml is not a list of hosts"),
        (["--static-network-file", "no-mac.yaml"], 1, "mac_address"),
        (["--image-type", "huge-iso"], 2, "full-iso"),
        (["--kernel-argument", "a b"], 1, "kernel"),
        (["--network-delay", "4000"], 2, "0..=3600"),
    ] {
        let output = service.cli(&[&["infra-env", "update", "lab"], &more[..]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{more:?}: {told}");
        assert!(told.contains(expected), "{more:?}: {told}");
    }
}
