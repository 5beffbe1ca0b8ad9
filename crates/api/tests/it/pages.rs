//! The web UI beside the API: pages for browsers, with a policy, and nothing else changed.

use assisted_config::{AuthType, Settings};
use reqwest::header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use reqwest::{Method, Response};
use serde_json::json;

use crate::authorisation::local;
use crate::server::Server;

const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

async fn get(server: &Server, path: &str, accept: &str) -> Response {
    let url = format!("http://{}{path}", server.address);
    server.client.get(url).header(ACCEPT, accept).send().await.unwrap()
}

fn content_type(answer: &Response) -> &str {
    answer.headers()[CONTENT_TYPE].to_str().unwrap()
}

#[tokio::test]
async fn browsers_get_pages_and_programs_what_they_got_before() {
    let server = Server::start(Settings::default()).await;
    for path in ["/", "/clusters", "/live/x"] {
        let page = get(&server, path, BROWSER).await;
        assert_eq!(
            (page.status().as_u16(), content_type(&page)),
            (200, "text/html; charset=utf-8"),
            "{path}"
        );
        let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert_eq!(policy.matches("http").count(), 0);
    }
    let head = server.client.head(format!("http://{}/", server.address)).send().await.unwrap();
    assert_eq!(head.status(), 200);
    for accept in ["*/*", "application/json"] {
        let missing = get(&server, "/clusters", accept).await;
        assert_eq!((missing.status().as_u16(), content_type(&missing)), (404, "application/json"));
    }
    for path in ["/api/assisted-install/v2/clusters", "/api/assisted-install/v1/x", "/assets/gone.js"] {
        assert_eq!(content_type(&get(&server, path, BROWSER).await), "application/json", "{path}");
    }
    for path in ["/health", "/ready", "/docs"] {
        let answer = get(&server, path, BROWSER).await;
        assert!(answer.status() == 200 && !answer.headers().contains_key(CONTENT_SECURITY_POLICY), "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_page_learns_how_people_log_in() {
    let open = Server::start(Settings::default()).await;
    assert_eq!(open.call(Method::GET, "/auth/methods", None).await.0, 404);
    open.stop().await;
    let (mut settings, _) = local();
    settings.auth.auth_type = AuthType::Users;
    let server = Server::start(settings).await;
    let methods = server.call(Method::GET, "/auth/methods", None).await;
    assert_eq!(methods, (200, json!({"password": true, "provider": false})));
    server.stop().await;
}
