//! Requests that contradict each other, come too early, too late or twice: the body of each refusal.

use assisted_config::Settings;
use reqwest::Method;
use serde_json::{Value, json};

use crate::life::{HOST, register};
use crate::server::Server;

const NOBODY: &str = "99999999-2222-3333-4444-555555555555";

fn application(status: u16, reason: &str) -> (u16, Value) {
    let body = json!({"code": status.to_string(), "id": status, "kind": "Error", "reason": reason});
    (status, body)
}

/// An answer without the address of the page that explains it.
fn without_href((status, mut body): (u16, Value)) -> (u16, Value) {
    let href = body.as_object_mut().and_then(|body| body.remove("href"));
    if status >= 400 && body["kind"] == "Error" {
        let href = href.unwrap_or_default();
        assert!(href.as_str().is_some_and(|href| href.starts_with("/docs/errors#")), "{href}");
    }
    (status, body)
}

#[tokio::test]
async fn of_what_there_is_not() {
    let server = Server::start(Settings::default()).await;
    let missing = || application(404, "record not found");
    let (_, pool) = register(&server).await;
    let pool = pool["id"].as_str().unwrap();
    let reply = json!({"step_type": "inventory", "step_id": "i", "exit_code": 0, "output": "{}"});
    for (method, path, body, expected) in [
        (Method::GET, format!("/v2/clusters/{NOBODY}"), None, missing()),
        (Method::PATCH, format!("/v2/clusters/{NOBODY}"), Some(json!({})), missing()),
        (Method::DELETE, format!("/v2/clusters/{NOBODY}"), None, missing()),
        (Method::GET, format!("/v2/clusters/{NOBODY}/preflight-requirements"), None, missing()),
        (
            Method::GET,
            format!("/v2/clusters/{NOBODY}/supported-platforms"),
            None,
            application(404, "error getting cluster, error: record not found"),
        ),
        (Method::GET, format!("/v2/clusters/{NOBODY}/ui-settings"), None, missing()),
        (Method::PUT, format!("/v2/clusters/{NOBODY}/ui-settings"), Some(json!("")), missing()),
        (Method::GET, format!("/v2/clusters/{NOBODY}/ignored-validations"), None, missing()),
        (
            Method::PUT,
            format!("/v2/clusters/{NOBODY}/ignored-validations"),
            Some(json!({})),
            application(
                500,
                &format!("failed to fetch cluster {NOBODY} to apply ignored validations: record not found"),
            ),
        ),
        (Method::GET, format!("/v2/infra-envs/{NOBODY}"), None, missing()),
        (Method::PATCH, format!("/v2/infra-envs/{NOBODY}"), Some(json!({})), missing()),
        (Method::DELETE, format!("/v2/infra-envs/{NOBODY}"), None, missing()),
        (Method::GET, format!("/v2/infra-envs/{NOBODY}/hosts"), None, missing()),
        (Method::POST, format!("/v2/infra-envs/{NOBODY}/hosts"), Some(json!({"host_id": HOST})), missing()),
        (Method::POST, format!("/v2/infra-envs/{NOBODY}/regenerate-signing-key"), None, missing()),
        (Method::GET, format!("/v2/infra-envs/{NOBODY}/downloads/image-url"), None, missing()),
        // An agent that was removed, or never registered.
        (
            Method::DELETE,
            format!("/v2/infra-envs/{pool}/hosts/{NOBODY}"),
            None,
            application(500, "record not found"),
        ),
    ] {
        assert_eq!(without_href(server.call(method.clone(), &path, body).await), expected, "{method} {path}");
    }
    for (method, path, body) in [
        (Method::GET, "", None),
        (Method::PATCH, "", Some(json!({}))),
        (Method::GET, "/instructions", None),
        (Method::POST, "/instructions", Some(reply)),
        (Method::POST, "/instructions", None),
        (Method::POST, "/actions/bind", Some(json!({"cluster_id": NOBODY}))),
        (Method::POST, "/actions/unbind", None),
    ] {
        for infra_env in [pool, NOBODY] {
            let path = format!("/v2/infra-envs/{infra_env}/hosts/{NOBODY}{path}");
            let (status, refused) = server.call(method.clone(), &path, body.clone()).await;
            assert_eq!(
                (status, &refused["code"], &refused["kind"]),
                (404, &json!("404"), &json!("Error")),
                "{path}"
            );
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn twice_and_in_the_wrong_order() {
    let server = Server::start(Settings::default()).await;
    let (cluster, infra_env) = register(&server).await;
    let (cluster, infra_env) = (cluster["id"].as_str().unwrap(), infra_env["id"].as_str().unwrap());
    let host = format!("/v2/infra-envs/{infra_env}/hosts/{HOST}");
    let to = |cluster: &str| Some(json!({"cluster_id": cluster}));
    for _ in 0..2 {
        let registered = server
            .call(Method::POST, &format!("/v2/infra-envs/{infra_env}/hosts"), Some(json!({"host_id": HOST})))
            .await;
        assert_eq!(registered.0, 201);
    }
    let reply = |step: &str, exit_code: i64, output: &str| {
        Some(
            json!({"step_type": step, "step_id": "x", "exit_code": exit_code, "output": output, "error": "no"}),
        )
    };
    let instructions = format!("{host}/instructions");
    for (body, expected) in [
        (reply("inventory", 1, ""), 204),
        (reply("ntp-synchronizer", -1, "{"), 204),
        (reply("inventory", 0, "nonsense"), 400),
        (reply("inventory", 0, "[]"), 400),
        (reply("inventory", 0, ""), 400),
        (reply("connectivity-check", 0, "{]"), 400),
        (reply("free-network-addresses", 0, "[]"), 500),
    ] {
        let (status, refused) = server.call(Method::POST, &instructions, body.clone()).await;
        assert_eq!(status, expected, "{body:?} {refused}");
        if status != 204 {
            // Never a bare one: the reason, or the id under which it stands in the log.
            assert!(refused["reason"].as_str().is_some_and(|reason| reason.len() > 8), "{body:?} {refused}");
        }
    }
    for (method, path, body, expected) in [
        (
            Method::POST,
            format!("{host}/actions/bind"),
            to(cluster),
            application(409, &format!("Host {HOST} is already bound to cluster {cluster}")),
        ),
        (
            Method::POST,
            format!("{host}/actions/unbind"),
            None,
            application(
                409,
                &format!("Cannot unbind Host {HOST}. InfraEnv {infra_env} is bound to Cluster {cluster}"),
            ),
        ),
        (
            Method::DELETE,
            format!("/v2/infra-envs/{infra_env}"),
            None,
            application(
                400,
                &format!("failed to deregister infraEnv {infra_env}, 1 hosts are still associated"),
            ),
        ),
        (
            Method::PATCH,
            host.clone(),
            Some(
                json!({"disks_selected_config": [{"id": "a", "role": "install"}, {"id": "b", "role": "install"}]}),
            ),
            application(409, "duplicate setting of installation path by the user"),
        ),
        (
            Method::PATCH,
            host.clone(),
            Some(json!({"host_name": "fine", "disks_selected_config": [{"id": "a", "role": "install"}]})),
            application(409, "Requested installation disk is not part of the host's valid disks"),
        ),
        (Method::DELETE, host.clone(), None, (204, Value::Null)),
        (Method::DELETE, host.clone(), None, application(500, "record not found")),
        (Method::DELETE, format!("/v2/clusters/{cluster}"), None, (204, Value::Null)),
        (Method::DELETE, format!("/v2/clusters/{cluster}"), None, application(404, "record not found")),
        (
            Method::PATCH,
            format!("/v2/clusters/{cluster}"),
            Some(json!({"name": "x"})),
            application(404, "record not found"),
        ),
        // The infra-env outlives its cluster, but takes no hosts.
        (
            Method::POST,
            format!("/v2/infra-envs/{infra_env}/hosts"),
            Some(json!({"host_id": HOST})),
            application(404, "record not found"),
        ),
        (Method::DELETE, format!("/v2/infra-envs/{infra_env}"), None, (204, Value::Null)),
        (Method::DELETE, format!("/v2/infra-envs/{infra_env}"), None, application(404, "record not found")),
    ] {
        assert_eq!(without_href(server.call(method.clone(), &path, body).await), expected, "{method} {path}");
    }
    // The first of two members was not applied either.
    assert_eq!(server.call(Method::GET, &host, None).await.0, 404);
    server.stop().await;
}
