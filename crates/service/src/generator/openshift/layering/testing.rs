//! A cluster in image mode, for tests.

use assisted_core::model::facts::Facts;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::generator::openshift::cluster_input::ClusterInput;

pub(super) use assisted_testkit::layering::{machine_os_config as config, push_secret as secret};

/// Three control plane hosts and a worker, with what is asked for beside the mode.
pub(super) fn facts(layering: &str) -> Facts {
    let mut layering: Value = serde_json::from_str(layering).unwrap();
    layering["mode"] = "Enabled".into();
    let cluster = json!({
        "kind": "Cluster", "id": "1b7dbf10-3b7f-4a7b-8d1a-3a8c2c2f5a4e", "href": "", "status": "installing", "status_info": "",
        "image_info": {}, "name": "lab", "base_dns_domain": "example.com", "openshift_version": "4.21.3",
        "cpu_architecture": "x86_64", "control_plane_count": 3, "platform": {"type": "baremetal"},
        "machine_networks": [{"cidr": "192.168.10.0/24"}],
        "api_vips": [{"ip": "192.168.10.5"}], "ingress_vips": [{"ip": "192.168.10.6"}],
        "install_config_overrides": json!({"onClusterLayering": layering}).to_string(),
    });
    let host = |number: usize| {
        let role = if number < 4 { "master" } else { "worker" };
        let record = json!({"host": {
            "kind": "Host", "id": format!("00000000-0000-0000-0000-00000000000{number}"), "href": "", "status": "installing",
            "status_info": "", "infra_env_id": "00000000-0000-0000-0000-00000000000a", "role": role, "bootstrap": number == 1,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "requested_hostname": format!("h{number}"),
        }, "clock_ahead_seconds": 0});
        let now = "2026-08-21T01:54:08Z".parse().unwrap();
        let mut facts =
            assisted_core::model::facts::HostFacts::new(serde_json::from_value(record).unwrap(), now);
        let inventory = json!({
            "cpu": {"architecture": "x86_64", "count": 8},
            "interfaces": [{"name": "eth0", "ipv4_addresses": [format!("192.168.10.1{number}/24")]}],
        });
        facts.put_report(assisted_core::model::report::ReportKind::Inventory, inventory.to_string().into());
        facts
    };
    let mut policy = assisted_core::policy::Policy::default();
    policy.service.service_base_url = "https://assisted.example.com".to_owned();
    policy.layering.preview = true;
    policy.layering.allow_generated_mosc = true;
    Facts {
        cluster: Some(serde_json::from_value(json!({"cluster": cluster})).unwrap()),
        hosts: (1..5).map(host).collect(),
        infra_envs: std::collections::BTreeMap::new(),
        policy: std::sync::Arc::new(policy),
        now: "2026-08-21T01:54:08Z".parse().unwrap(),
    }
}

fn of(facts: Facts) -> ClusterInput {
    ClusterInput {
        record: facts.cluster.clone().unwrap(),
        facts,
        networks: vec!["192.168.10.0/24".parse().unwrap()],
        install_config: Bytes::new(),
        authority: String::new(),
    }
}

/// With the embedded registry.
pub(super) fn input() -> ClusterInput {
    of(facts("{}"))
}

/// With an external registry.
pub(super) fn input_external() -> ClusterInput {
    of(facts(r#"{"registry":{"type":"External"}}"#))
}
