//! The page of metrics, and how requests are counted on it.

use assisted_config::Settings;
use reqwest::Method;

use crate::authorisation::local;
use crate::server::Server;

#[tokio::test]
async fn requests_are_counted_by_their_operation() {
    let server = Server::start(Settings::default()).await;
    let page = async || {
        let answer = server.client.get(format!("http://{}/metrics", server.address)).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        answer.text().await.unwrap()
    };
    assert!(!page().await.contains("http_request_duration_seconds_count"), "nothing was asked for");
    let id = "11111111-2222-3333-4444-555555555555";
    assert_eq!(server.call(Method::GET, "/v2/clusters", None).await.0, 200);
    assert_eq!(server.call(Method::GET, &format!("/v2/clusters/{id}"), None).await.0, 404);
    assert_eq!(server.call(Method::GET, "/v2/nothing", None).await.0, 404);
    let page = page().await;
    for line in [
        r#"http_request_duration_seconds_count{code="200",handler="/v2/clusters",method="GET",service="assisted-installer"} 1"#,
        r#"http_request_duration_seconds_count{code="404",handler="/v2/clusters/{cluster_id}",method="GET",service="assisted-installer"} 1"#,
        r#"http_response_size_bytes_bucket{code="200",handler="/v2/clusters",method="GET",service="assisted-installer",le="100"} 1"#,
        r#"http_requests_inflight{handler="/v2/clusters",method="GET",service="assisted-installer"} 0"#,
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    assert!(!page.contains("/v2/nothing") && !page.contains(id), "paths of nobody and ids are no labels");
    server.stop().await;
}

/// The count of the requests of an operation that were answered with a status.
pub(crate) fn counted(page: &str, code: u16, handler: &str) -> Option<u64> {
    let labels =
        format!(r#"{{code="{code}",handler="{handler}",method="GET",service="assisted-installer"}} "#);
    let line = format!("http_request_duration_seconds_count{labels}");
    page.lines().find_map(|found| found.strip_prefix(line.as_str())).map(|count| count.parse().unwrap())
}

/// What is refused before its operation begins counts as that operation's. What is no operation does not count, and neither does the
/// question of a browser whether a page may ask.
#[tokio::test]
async fn refusals_are_counted_and_what_is_no_operation_is_not() {
    let (mut settings, _) = local();
    settings.http.allowed_domains = vec!["https://ui.example.com".to_owned()];
    let server = Server::start(settings).await;
    for path in ["/health", "/ready"] {
        let answer = server.client.get(format!("http://{}{path}", server.address)).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
    let asked = server
        .client
        .request(Method::OPTIONS, format!("{}/v2/clusters", server.url))
        .header("Origin", "https://ui.example.com")
        .header("Access-Control-Request-Method", "PATCH");
    assert_eq!(asked.send().await.unwrap().status(), 204);
    // No operation has this method.
    assert_eq!(server.call(Method::PUT, "/v2/clusters", None).await.0, 405);
    let page = server.metrics().await;
    assert!(!page.contains("http_request_duration_seconds_count"), "{page}");
    assert_eq!(server.call(Method::GET, "/v2/clusters", None).await.0, 401);
    assert_eq!(counted(&server.metrics().await, 401, "/v2/clusters"), Some(1));
    server.stop().await;

    let server = Server::start(Settings::default()).await;
    assert_eq!(server.call(Method::GET, "/v2/clusters/x", None).await.0, 400);
    assert_eq!(counted(&server.metrics().await, 400, "/v2/clusters/{cluster_id}"), Some(1));
    server.stop().await;
}
