//! Refusals before a use case runs: status and body.

use assisted_core::settings::Settings;
use assisted_wire::operation;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

fn framework(code: u16, message: &str) -> (u16, Value) {
    (code, json!({"code": code, "message": message}))
}

#[tokio::test]
async fn routes_and_content_types() {
    let server = Server::start(Settings::default()).await;
    assert_eq!(
        server.call(Method::GET, "/v1/clusters", None).await,
        framework(404, "path /api/assisted-install/v1/clusters was not found")
    );
    let answer = server.client.put(format!("{}/v2/clusters", server.url)).send().await.unwrap();
    assert_eq!(answer.status(), 405);
    assert_eq!(answer.headers()["allow"], "GET,POST");
    assert_eq!(
        answer.json::<Value>().await.unwrap(),
        json!({"code": 405, "message": "method PUT is not allowed, but [GET,POST] are"})
    );
    let answer = server.client.post(format!("{}/v2/clusters", server.url)).body("{}").send().await.unwrap();
    assert_eq!(answer.status(), 415);
    assert_eq!(
        answer.json::<Value>().await.unwrap()["message"],
        r#"unsupported media type "application/octet-stream", only [application/json] are allowed"#
    );
    server.stop().await;
}

#[tokio::test]
async fn parameters_and_bodies() {
    let server = Server::start(Settings::default()).await;
    assert_eq!(
        server.call(Method::GET, "/v2/clusters/nope", None).await,
        framework(400, "cluster_id in path must be of type uuid: \"nope\"")
    );
    assert_eq!(
        server.call(Method::GET, "/v2/events?order=sideways", None).await,
        framework(400, "order in query should be one of [ascending descending]")
    );
    assert_eq!(
        server.call(Method::GET, "/v2/events?limit=many", None).await,
        framework(400, "limit in query must be of type int64: \"many\"")
    );
    assert_eq!(
        server.call(Method::GET, "/v2/support-levels/features", None).await,
        framework(400, "openshift_version in query is required")
    );
    assert_eq!(
        server.call(Method::POST, "/v2/clusters", Some(json!({"name": "c"}))).await,
        framework(400, "openshift_version in body is required")
    );
    server.stop().await;
}

#[tokio::test]
async fn slashes_ids_and_documents() {
    let server = Server::start(Settings::default()).await;
    assert_eq!(server.call(Method::GET, "//v2///clusters//", None).await, (200, json!([])));
    let answer = server
        .client
        .get(format!("{}/v2/clusters", server.url))
        .header("X-Request-ID", "11111111-2222-3333-4444-555555555555")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["x-request-id"], "11111111-2222-3333-4444-555555555555");
    let (status, swagger) = server.call(Method::GET, "/v2/openapi", None).await;
    assert_eq!((status, &swagger["swagger"]), (200, &json!("2.0")));
    let (status, openapi) = server.call(Method::GET, "/v2/openapi.json", None).await;
    assert_eq!((status, &openapi["openapi"]), (200, &json!("3.1.0")));
    for path in ["/health", "/ready", "/docs"] {
        let url = format!("http://{}{path}", server.address);
        assert_eq!(server.client.get(url).send().await.unwrap().status(), 200, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn every_operation_has_a_use_case() {
    let server = Server::start(Settings::default()).await;
    let id = "11111111-2222-3333-4444-555555555555";
    // What has no end is not waited for.
    for operation in operation::all().filter(|operation| operation.name != "v2Watch") {
        let path = operation.path.replace("{cluster_id}", id).replace("{infra_env_id}", id);
        let path = path.replace("{host_id}", id).replace("{operator_name}", "x").replace("{id}", "x");
        let path = match operation.params.iter().any(|param| param.required && param.name == "file_name") {
            true => format!("{path}?file_name={}", first_value(operation)),
            false => format!("{path}?logs_type=host"),
        };
        let method = Method::from_bytes(operation.method.as_str().as_bytes()).unwrap();
        let (status, body) = server.call(method, &path, None).await;
        assert_ne!(status, 501, "{path}: {body}");
    }
    server.stop().await;
}

fn first_value(operation: &operation::Operation) -> &'static str {
    let param = operation.params.iter().find(|param| param.name == "file_name").unwrap();
    param.one_of.first().copied().unwrap_or("x")
}
