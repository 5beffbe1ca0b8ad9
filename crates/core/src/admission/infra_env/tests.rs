use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::infra_env::{InfraEnvCreateParams, InfraEnvUpdateParams};
use assisted_wire::platform::PlatformType;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Created, NewInfraEnv, Updated, create, update};
use crate::admission::{NewObject, Owner};
use crate::model::cluster::ClusterRecord;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::policy::Policy;
use crate::validation::testing;

const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#;
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti me";

fn new() -> NewInfraEnv {
    NewInfraEnv {
        new: NewObject {
            id: InfraEnvId(Uuid::from_u128(9)),
            now: testing::now(),
            owner: Owner {
                user_name: "admin".to_owned(),
                org_id: String::new(),
                email_domain: "Unknown".to_owned(),
            },
        },
        image_token_key: "00".into(),
    }
}

fn cluster(architecture: &str) -> ClusterRecord {
    let mut record = testing::facts(0).cluster.unwrap();
    record.cluster.cpu_architecture = Some(architecture.parse().unwrap());
    record
}

fn created(further: &Value, cluster: Option<&ClusterRecord>) -> Result<Created, Refusal> {
    let mut body = json!({"name": "test", "pull_secret": PULL_SECRET});
    for (key, value) in further.as_object().unwrap() {
        body[key] = value.clone();
    }
    let params: InfraEnvCreateParams = serde_json::from_value(body).unwrap();
    create(&params, cluster, &Policy::default(), &new())
}

fn updated(stored: &Created, body: Value) -> Result<Updated, Refusal> {
    let params: InfraEnvUpdateParams = serde_json::from_value(body).unwrap();
    update(&stored.record, &params, None, &Policy::default(), testing::now())
}

#[test]
fn the_smallest_request() {
    let Created { record, events, cluster_feature_usage } = created(&json!({}), None).unwrap();
    let id = "00000000-0000-0000-0000-000000000009";
    assert_eq!(
        serde_json::to_value(&record.infra_env).unwrap(),
        json!({
            "kind": "InfraEnv",
            "id": id,
            "href": format!("/api/assisted-install/v2/infra-envs/{id}"),
            "openshift_version": "5.0",
            "name": "test",
            "user_name": "admin",
            "email_domain": "Unknown",
            "proxy": {},
            "pull_secret_set": true,
            "type": "full-iso",
            "updated_at": "2026-08-21T01:54:08.5Z",
            "created_at": "2026-08-21T01:54:08.5Z",
            "expires_at": "0001-01-01T00:00:00.000Z",
            "cpu_architecture": "x86_64",
        })
    );
    assert_eq!(cluster_feature_usage, None);
    let told: Vec<_> = events.iter().map(|event| (event.name, event.message.as_str())).collect();
    assert_eq!(
        told,
        [
            ("infra_env_registered", "Registered infra env"),
            (
                "image_info_updated",
                "Updated image information (Image type is \"full-iso\", SSH public key is not set)"
            ),
        ]
    );
}

#[test]
fn what_follows_from_what_is_given() {
    for (further, member, expected) in [
        (json!({"openshift_version": "4.22.9"}), "/openshift_version", json!("4.22")),
        (json!({"cpu_architecture": "aarch64"}), "/cpu_architecture", json!("arm64")),
        (json!({"image_type": "minimal-iso"}), "/type", json!("minimal-iso")),
        (
            json!({"kernel_arguments": [{"operation": "append", "value": "a"}]}),
            "/kernel_arguments",
            json!(r#"[{"operation":"append","value":"a"}]"#),
        ),
        (json!({"ssh_authorized_key": format!("{KEY}\n")}), "/ssh_authorized_key", json!(KEY)),
        (
            json!({"image_type": "disconnected-iso", "rendezvous_ip": "10.1.1.1"}),
            "/rendezvous_ip",
            json!("10.1.1.1"),
        ),
        (json!({"network_discovery_delay_seconds": 0}), "/network_discovery_delay_seconds", json!(0)),
    ] {
        let record = created(&further, None).unwrap().record;
        let shown = serde_json::to_value(&record.infra_env).unwrap();
        assert_eq!(shown.pointer(member), Some(&expected), "{further}");
    }
}

#[test]
fn refusals() {
    let x86 = cluster("x86_64");
    let multi = cluster("multi");
    let mut s390x = cluster("s390x");
    s390x.cluster.user_managed_networking = Some(true);
    s390x.cluster.platform = Some(crate::catalogue::platform::resolution::plain(PlatformType::None));
    let id = ClusterId::default();
    assert_eq!(
        created(&json!({"cluster_id": id}), None).unwrap_err(),
        Refusal::not_found(format!("Cluster ID {id} does not exist"))
    );
    assert!(created(&json!({"cluster_id": id, "cpu_architecture": "arm64"}), Some(&multi)).is_ok());
    for (further, cluster, text) in [
        (
            json!({"cpu_architecture": "arm64"}),
            Some(&x86),
            "Specified CPU architecture (arm64) doesn't match the cluster (x86_64)",
        ),
        (json!({"ntp_sources": "a b"}), None, "Invalid NTP source: a b"),
        (
            json!({"ntp_sources": "1.1.1.1", "additional_ntp_sources": "1.1.1.2"}),
            None,
            "ntp_sources and additional_ntp_sources are mutually exclusive",
        ),
        (json!({"ssh_authorized_key": "x"}), None, "SSH key is not valid"),
        (json!({"additional_trust_bundle": "x"}), None, "invalid block"),
        (
            json!({"rendezvous_ip": "10.1.1.1"}),
            None,
            "RendezvousIP is only supported for disconnected ISO infra-envs",
        ),
        (
            json!({"rendezvous_ip": "10.1.1.300", "image_type": "disconnected-iso"}),
            None,
            "Invalid rendezvous IP: 10.1.1.300 (must be a valid IPv4 or IPv6 address)",
        ),
        (
            json!({"openshift_version": "4.1"}),
            None,
            "No OS image for Openshift version 4.1 and architecture x86_64: The requested OS image for version (4.1) and \
             CPU architecture (x86_64) isn't specified in OS images list",
        ),
        (
            json!({"kernel_arguments": [{"operation": "delete", "value": "a"}]}),
            None,
            "Only kernel argument operation append is supported.  Got delete",
        ),
        (
            json!({"cpu_architecture": "s390x", "image_type": "minimal-iso"}),
            Some(&s390x),
            "cannot use Minimal ISO because it's not compatible with the s390x architecture on version 4.20.1 of OpenShift",
        ),
        (
            json!({"pull_secret": "{}"}),
            None,
            "pull secret for new infraEnv is invalid: pull secret must contain 'auths' JSON-object field",
        ),
    ] {
        let refusal = created(&further, cluster).map(|_| ()).unwrap_err();
        assert_eq!((refusal.kind, refusal.reason.as_str()), (RefusalKind::Invalid, text), "{further}");
    }
}

#[test]
fn a_default_time_source_cannot_be_taken_away() {
    let mut policy = Policy::default();
    policy.clusters.ntp_default_server = "clock.example.com".to_owned();
    let make = |further: Value| {
        let mut body = json!({"name": "test", "pull_secret": PULL_SECRET});
        for (key, value) in further.as_object().unwrap() {
            body[key] = value.clone();
        }
        create(&serde_json::from_value(body).unwrap(), None, &policy, &new())
    };
    assert_eq!(make(json!({})).unwrap().record.infra_env.additional_ntp_sources, "clock.example.com");
    for further in [json!({"additional_ntp_sources": ""}), json!({"ntp_sources": "1.1.1.1"})] {
        assert_eq!(make(further).unwrap_err(), Refusal::invalid("Invalid NTP source: "));
    }
}

#[test]
fn own_credentials_are_added_to_what_is_kept() {
    let mut policy = Policy::default();
    policy.clusters.registry_creds = "me:secret".into();
    let entry = r#""registry.stage.redhat.io":{"auth":"bWU6c2VjcmV0"}"#;
    let params = serde_json::from_value(json!({"name": "test", "pull_secret": PULL_SECRET})).unwrap();
    let record = create(&params, None, &policy, &new()).unwrap().record;
    assert!(record.pull_secret.expose().contains(entry));
    let stored = created(&json!({}), None).unwrap().record;
    let params = serde_json::from_value(json!({"pull_secret": PULL_SECRET})).unwrap();
    let record = update(&stored, &params, None, &policy, testing::now()).unwrap().record;
    assert!(record.pull_secret.expose().contains(entry));
}

#[test]
fn the_bound_cluster_learns_what_is_used() {
    let cluster = cluster("arm64");
    let further = json!({
        "cluster_id": cluster.cluster.id,
        "cpu_architecture": "arm64",
        "kernel_arguments": [{"operation": "append", "value": "a"}],
        "static_network_config": [{"network_yaml": "interfaces: []", "mac_interface_map": []}],
        "ignition_config_override": r#"{"ignition":{"version":"3.1.0"}}"#,
    });
    let usage = created(&further, Some(&cluster)).unwrap().cluster_feature_usage.unwrap();
    for name in [
        "arm64 architecture",
        "discovery kernel arguments",
        "Static Network Config",
        "Ignition Config Override",
    ] {
        assert!(usage.contains(name), "{name}: {usage}");
    }
}

#[test]
fn an_update_changes_only_what_it_carries() {
    let stored = created(
        &json!({
            "proxy": {"http_proxy": "http://a.b", "no_proxy": "x"},
            "ssh_authorized_key": KEY,
            "additional_ntp_sources": "1.1.1.1",
            "kernel_arguments": [{"operation": "append", "value": "a"}],
            "static_network_config": [{"network_yaml": "interfaces: []", "mac_interface_map": []}],
        }),
        None,
    )
    .unwrap();
    let idle = updated(
        &stored,
        json!({"ssh_authorized_key": "", "pull_secret": "", "ignition_config_override": ""}),
    )
    .unwrap();
    assert!(!idle.changed && idle.events.is_empty());
    assert_eq!(idle.record, stored.record);
    for (body, member, expected) in [
        (json!({"proxy": {"http_proxy": ""}}), "/proxy", json!({"http_proxy": "", "no_proxy": "x"})),
        (json!({"additional_ntp_sources": ""}), "/additional_ntp_sources", Value::Null),
        (json!({"kernel_arguments": []}), "/kernel_arguments", Value::Null),
        (json!({"static_network_config": []}), "/static_network_config", Value::Null),
        (json!({"image_type": "minimal-iso"}), "/type", json!("minimal-iso")),
        (json!({"openshift_version": "4.21"}), "/openshift_version", json!("4.21")),
        (json!({"network_discovery_delay_seconds": 0}), "/network_discovery_delay_seconds", json!(0)),
    ] {
        let updated = updated(&stored, body.clone()).unwrap();
        let shown = serde_json::to_value(&updated.record.infra_env).unwrap();
        assert_eq!(shown.pointer(member).cloned().unwrap_or_default(), expected, "{body}");
        assert!(updated.changed && updated.events.len() == 1, "{body}");
    }
    // Kernel arguments count as a change even when they are the same.
    let same = json!({"kernel_arguments": [{"operation": "append", "value": "a"}]});
    assert!(updated(&stored, same).unwrap().changed);
    assert_eq!(
        updated(&stored, json!({"ntp_sources": "1.1.1.2"})).unwrap_err(),
        Refusal::invalid("ntp_sources and additional_ntp_sources are mutually exclusive")
    );
}

#[test]
fn the_meeting_point_goes_with_the_type() {
    let stored =
        created(&json!({"image_type": "disconnected-iso", "rendezvous_ip": "10.1.1.1"}), None).unwrap();
    assert_eq!(updated(&stored, json!({"rendezvous_ip": ""})).unwrap().record.infra_env.rendezvous_ip, None);
    assert_eq!(
        updated(&stored, json!({"image_type": "full-iso"})).unwrap().record.infra_env.rendezvous_ip,
        None
    );
}
