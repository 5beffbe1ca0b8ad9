//! A cluster with three hosts, for the targets of what hosts report.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_core::model::decision::Decision;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::host::HostKey;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::policy::Policy;
use assisted_wire::id::{HostId, InfraEnvId};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

const START: i64 = 1_767_323_045;

/// One of the hosts.
pub fn key(number: u128) -> HostKey {
    HostKey {
        infra_env_id: InfraEnvId(Uuid::from_u128(1)),
        host_id: HostId(Uuid::from_u128(0x1000 + number)),
    }
}

/// The cluster and its hosts, of which nothing is known yet; none if the shapes of the records have changed.
pub fn facts() -> Option<Facts> {
    let now = Timestamp::from_second(START).ok()?;
    let (at, cluster_id) = (now.to_string(), Uuid::from_u128(2));
    let cluster = json!({
        "kind": "Cluster", "id": cluster_id, "href": "", "name": "c", "base_dns_domain": "example.com",
        "openshift_version": "4.20.3", "image_info": {}, "status": "insufficient", "status_info": "",
        "platform": {"type": "baremetal"}, "control_plane_count": 3, "high_availability_mode": "Full",
        "cpu_architecture": "x86_64", "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}],
        "service_networks": [{"cidr": "172.30.0.0/16"}], "machine_networks": [{"cidr": "10.0.0.0/24"}],
        "api_vips": [{"ip": "10.0.0.5"}], "ingress_vips": [{"ip": "10.0.0.6"}], "pull_secret_set": true,
        "network_type": "OVNKubernetes", "monitored_operators": [],
    });
    let infra_env = json!({
        "kind": "InfraEnv", "id": key(0).infra_env_id, "href": "", "name": "lab", "type": "full-iso",
        "openshift_version": "4.20", "cpu_architecture": "x86_64", "cluster_id": cluster_id,
        "created_at": at, "updated_at": at,
    });
    let host = |number| host(number, &at, cluster_id, now);
    let infra_env: InfraEnvRecord = read(json!({"infra_env": infra_env, "pull_secret": "secret"}))?;
    Some(Facts {
        cluster: Some(read(json!({"cluster": cluster, "pull_secret": "secret"}))?),
        hosts: (0..3).map(host).collect::<Option<_>>()?,
        infra_envs: BTreeMap::from([(infra_env.infra_env.id, infra_env)]),
        policy: Arc::new(Policy::default()),
        now,
    })
}

fn host(number: u128, at: &str, cluster_id: Uuid, now: Timestamp) -> Option<HostFacts> {
    let host = json!({
        "kind": "Host", "id": key(number).host_id, "href": "", "status": "discovering", "status_info": "",
        "created_at": at, "updated_at": at, "infra_env_id": key(number).infra_env_id, "cluster_id": cluster_id,
        "role": "auto-assign", "requested_hostname": format!("host-{number}"),
    });
    Some(HostFacts::new(read(json!({"host": host, "clock_ahead_seconds": 0}))?, now))
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

/// Puts what was decided about hosts into the facts, as the service does.
pub fn apply(facts: &mut Facts, decision: Decision) {
    for change in decision.hosts {
        let Some(host) = facts.hosts.iter_mut().find(|host| host.key() == change.key) else { continue };
        if let Some(record) = change.record {
            host.record = record.into();
        }
        for (kind, text) in change.reports {
            host.put_report(kind, text.into());
        }
    }
}
