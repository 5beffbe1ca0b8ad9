//! Image mode, asked for where the rest of a cluster is described (ocl-day1 §B2).

use assisted_config::Settings;
use reqwest::Method;
use serde_json::{Value, json};

use crate::life::PULL_SECRET;
use crate::server::Server;

const PUSH_SECRET: &str = r#"{"auths":{"r.example.com":{"auth":"aHVudGVyMjpodW50ZXIy"}}}"#;
/// What of it stands nowhere else.
const WORD: &str = "aHVudGVyMjpodW50ZXIy";

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.layering.preview = true;
    settings.layering.allow_generated_mosc = true;
    settings
}

async fn register(server: &Server, asked: Option<Value>) -> (u16, Value) {
    let mut body = json!({
        "name": "image-mode", "openshift_version": "4.20", "base_dns_domain": "example.com", "pull_secret": PULL_SECRET,
    });
    if let Some(asked) = asked {
        body["on_cluster_layering"] = asked;
    }
    server.call(Method::POST, "/v2/clusters", Some(body)).await
}

#[tokio::test]
async fn asked_for_with_the_cluster_and_never_told_with_its_secret() {
    let server = Server::start(settings()).await;
    let generated = json!({
        "mode": "Enabled", "machine_os_configs": "Generate", "bake_configs": false,
        "registry": {"type": "External", "push_repository": "r.example.com/acme/os", "push_secret": PUSH_SECRET},
    });
    let (status, cluster) = register(&server, Some(generated)).await;
    assert_eq!(status, 201, "{cluster}");
    let id = cluster["id"].as_str().unwrap();
    let path = format!("/v2/clusters/{id}");
    let layering = format!("{path}/on-cluster-layering");
    let (_, state) = server.call(Method::GET, &layering, None).await;
    assert_eq!((&state["enabled"], &state["push_secret_set"]), (&json!(true), &json!(true)), "{state}");
    let told = json!({
        "mode": "Enabled", "machine_os_configs": "Generate", "bake_configs": false,
        "registry": {"type": "External", "push_repository": "r.example.com/acme/os"},
    });
    assert_eq!(state["settings"], told);
    let (status, body) =
        server.call(Method::PATCH, &path, Some(json!({"on_cluster_layering": {"mode": "Disabled"}}))).await;
    assert_eq!(status, 201, "{body}");
    let (_, state) = server.call(Method::GET, &layering, None).await;
    assert_eq!((&state["enabled"], &state["status"]), (&json!(false), &json!("disabled")), "{state}");
    assert!(state.get("push_secret_set").is_none(), "{state}");

    // Whatever was answered, or refused, the secret is not in it.
    let wrong = json!({"registry": {"type": "Nowhere", "push_secret": PUSH_SECRET}});
    let (status, refused) =
        server.call(Method::PATCH, &path, Some(json!({"on_cluster_layering": wrong}))).await;
    assert_eq!(status, 400, "{refused}");
    let (_, events) = server.call(Method::GET, &format!("/v2/events?cluster_id={id}"), None).await;
    assert!(events.to_string().contains("ocl_enabled"), "{events}");
    let (_, read) = server.call(Method::GET, &path, None).await;
    for text in [cluster, state, refused, events, read] {
        let text = text.to_string();
        assert!(!text.contains(WORD) && !text.contains("push_secret\":"), "{text}");
    }
    server.stop().await;
}

#[tokio::test]
async fn unknown_and_impossible_values_are_refused() {
    let server = Server::start(settings()).await;
    let (status, cluster) = register(&server, None).await;
    assert_eq!(status, 201, "{cluster}");
    assert!(cluster.get("on_cluster_layering").is_none(), "{cluster}");
    let path = format!("/v2/clusters/{}", cluster["id"].as_str().unwrap());
    for (wrong, told) in [
        (json!({"modus": "Enabled"}), "unknown field"),
        (json!({"registry": {"user": "me"}}), "unknown field"),
        (json!({"mode": "On"}), "unknown variant"),
        (json!({"build_timeout_minutes": 5}), "buildTimeoutMinutes is 5"),
        (json!({"registry": {"port": 22_623}}), "registry.port is 22623"),
    ] {
        let (status, created) = register(&server, Some(wrong.clone())).await;
        assert_eq!(status, 400, "{wrong}: {created}");
        let (status, body) =
            server.call(Method::PATCH, &path, Some(json!({"on_cluster_layering": wrong}))).await;
        assert_eq!(status, 400, "{wrong}: {body}");
        assert!(body.to_string().contains(told), "{wrong}: {body}");
    }
    let (_, state) = server.call(Method::GET, &format!("{path}/on-cluster-layering"), None).await;
    let plain = json!({
        "enabled": false, "registry_type": "Embedded", "rollout": "Deploy", "status": "disabled", "adopted": false,
        "builds": [], "hosts": [],
    });
    assert_eq!(state, plain, "a cluster that asks for nothing is told of as before");
    server.stop().await;
}
