//! The page of metrics, and how requests are counted on it.

use assisted_config::Settings;
use reqwest::Method;

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
