//! A cluster, its infra-env and a host over HTTP.

use assisted_config::Settings;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

pub(crate) const PULL_SECRET: &str =
    r#"{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz"},"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#;
pub(crate) const HOST: &str = "11111111-2222-3333-4444-555555555555";

pub(crate) async fn register(server: &Server) -> (Value, Value) {
    let (status, cluster) = server
        .call(
            Method::POST,
            "/v2/clusters",
            Some(json!({
                "name": "life", "openshift_version": "4.20", "base_dns_domain": "example.com", "pull_secret": PULL_SECRET
            })),
        )
        .await;
    assert_eq!(status, 201, "{cluster}");
    let (status, infra_env) = server
        .call(
            Method::POST,
            "/v2/infra-envs",
            Some(json!({
                "name": "life", "pull_secret": PULL_SECRET, "openshift_version": "4.20", "cluster_id": cluster["id"]
            })),
        )
        .await;
    assert_eq!(status, 201, "{infra_env}");
    (cluster, infra_env)
}

#[tokio::test]
async fn register_poll_and_delete() {
    let server = Server::start(Settings::default()).await;
    let (cluster, infra_env) = register(&server).await;
    let cluster_path = format!("/v2/clusters/{}", cluster["id"].as_str().unwrap());
    let infra_env_path = format!("/v2/infra-envs/{}", infra_env["id"].as_str().unwrap());
    let hosts = format!("{infra_env_path}/hosts");
    let (status, host) = server.call(Method::POST, &hosts, Some(json!({"host_id": HOST, "discovery_agent_version": "quay.io/assisted/assisted-installer-agent:latest"}))).await;
    assert_eq!((status, &host["id"]), (201, &json!(HOST)), "{host}");
    let instructions = format!("{hosts}/{HOST}/instructions");
    let (status, steps) = server.call(Method::GET, &instructions, None).await;
    assert_eq!(status, 200, "{steps}");
    let types: Vec<_> =
        steps["instructions"].as_array().unwrap().iter().map(|step| &step["step_type"]).collect();
    assert!(types.contains(&&json!("inventory")), "{steps}");

    let (status, read) = server.call(Method::GET, &cluster_path, None).await;
    assert_eq!((status, read["hosts"].as_array().unwrap().len()), (200, 1), "{read}");
    assert!(read.get("pull_secret").is_none());
    let (status, events) = server
        .call(Method::GET, &format!("/v2/events?cluster_id={}", cluster["id"].as_str().unwrap()), None)
        .await;
    assert_eq!(status, 200);
    assert!(!events.as_array().unwrap().is_empty());

    assert_eq!(server.call(Method::DELETE, &format!("{hosts}/{HOST}"), None).await.0, 204);
    assert_eq!(server.call(Method::GET, &instructions, None).await.0, 404);
    assert_eq!(server.call(Method::DELETE, &infra_env_path, None).await.0, 204);
    assert_eq!(server.call(Method::DELETE, &cluster_path, None).await.0, 204);
    assert_eq!(server.call(Method::GET, &cluster_path, None).await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn fifteen_thousand_disks_are_taken_or_refused_but_never_break() {
    let server = Server::start(Settings::default()).await;
    let (_, infra_env) = register(&server).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    let disks: Vec<Value> = (0..15_000)
        .map(|number| {
            json!({"id": format!("/dev/disk/by-id/{number}"), "name": format!("sd{number}"), "size_bytes": 1_u64 << 40,
                   "drive_type": "SSD", "installation_eligibility": {"eligible": true}})
        })
        .collect();
    let inventory = json!({
        "hostname": "$(reboot)\u{0}\n", "disks": disks, "interfaces": [], "cpu": {"count": 8, "architecture": "x86_64"},
        "memory": {"physical_bytes": 1_u64 << 36, "usable_bytes": 1_u64 << 36},
    });
    let reply = json!({
        "step_type": "inventory", "step_id": "inventory-1", "exit_code": 0, "output": inventory.to_string(), "error": ""
    });
    let (status, body) =
        server.call(Method::POST, &format!("{hosts}/{HOST}/instructions"), Some(reply)).await;
    assert_eq!(status, 204, "{body}");
    let (status, host) = server.call(Method::GET, &format!("{hosts}/{HOST}"), None).await;
    let kept: Value = serde_json::from_str(host["inventory"].as_str().unwrap()).unwrap();
    assert_eq!((status, kept["disks"].as_array().unwrap().len()), (200, 15_000));
    server.stop().await;
}
