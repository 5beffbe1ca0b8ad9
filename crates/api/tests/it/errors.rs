//! Refusals before a use case runs: status and body.

use assisted_config::Settings;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::life::{HOST, register};
use crate::server::Server;
use crate::walk::{Asked, Found, ask_all};

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
async fn each_error_leads_to_a_page_that_explains_it() {
    let server = Server::start(Settings::default()).await;
    let nobody = "/v2/clusters/99999999-2222-3333-4444-555555555555";
    for (path, section) in
        [(nobody, "no-such-object"), ("/v2/clusters/nope", "http-400"), ("/v1/clusters", "unknown-path")]
    {
        let answer = server.client.get(format!("{}{path}", server.url)).send().await.unwrap();
        let link = answer.headers()["link"].to_str().unwrap().to_owned();
        assert_eq!(link, format!("</docs/errors#{section}>; rel=\"help\""), "{path}");
        let body: Value = answer.json().await.unwrap();
        if let Some(href) = body.get("href") {
            assert_eq!(href, &format!("/docs/errors#{section}"));
        }
        let origin = server.url.trim_end_matches("/api/assisted-install");
        let page = server.client.get(format!("{origin}/docs/errors")).send().await.unwrap();
        assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
        assert!(page.text().await.unwrap().contains(&format!("<h3 id=\"{section}\">")), "{section}");
    }
    server.stop().await;
}

#[tokio::test]
async fn each_validation_leads_to_a_page_that_explains_it() {
    let server = Server::start(Settings::default()).await;
    let (cluster, infra_env) = register(&server).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    let origin = server.url.trim_end_matches("/api/assisted-install");
    let page = server.client.get(format!("{origin}/docs/troubleshooting")).send().await.unwrap();
    let page = page.text().await.unwrap();
    for path in [format!("/v2/clusters/{}", cluster["id"].as_str().unwrap()), format!("{hosts}/{HOST}")] {
        let (status, found) = server.call(Method::GET, &format!("{path}/validations"), None).await;
        assert_eq!(status, 200, "{found}");
        let found = found.as_array().unwrap();
        assert!(!found.is_empty(), "{path}");
        for validation in found {
            let id = validation["id"].as_str().unwrap();
            assert_eq!(validation["help"], format!("/docs/troubleshooting#{id}"));
            assert!(page.contains(&format!("<h3 id=\"{id}\">")), "{id}");
        }
    }
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
    for Asked { operation, found } in ask_all(&server.client, &server.url).await {
        assert_eq!(found, Found::UseCase, "{}", operation.name);
    }
    server.stop().await;
}

/// What the answers look like of an API that has nothing behind its operations, and of one that does not know them.
#[tokio::test]
async fn an_operation_without_a_use_case_is_found() {
    let answering = async |head: &'static str, body: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                assert_ne!(stream.read(&mut request).await.unwrap(), 0, "no request");
                let length = body.len();
                let answer =
                    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let asked = ask_all(&reqwest::Client::new(), &url).await;
        served.abort();
        asked
    };
    let nothing = answering("501 Not Implemented", r#"{"kind":"Error","code":"501"}"#).await;
    assert!(nothing.iter().all(|asked| asked.found == Found::Nothing), "{nothing:?}");
    let unknown = answering("404 Not Found", r#"{"code":404,"message":"path /v2/x was not found"}"#).await;
    assert!(unknown.iter().all(|asked| matches!(asked.found, Found::NotKnown(_))), "{unknown:?}");
    let refused = answering("404 Not Found", r#"{"kind":"Error","code":"404","reason":"no cluster"}"#).await;
    assert!(refused.iter().all(|asked| asked.found == Found::UseCase), "{refused:?}");
}
