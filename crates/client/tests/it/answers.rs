//! What comes back: successes, refusals, and hosts that are no such service.

use std::time::Duration;

use assisted_client::{Client, Error, ErrorBody, Failure, RetryPolicy};
use assisted_wire::id::ClusterId;
use assisted_wire::operation::OperationId;
use axum::body::Body;
use axum::response::Response;
use tokio::net::TcpListener;

use crate::server::Server;

const JSON: Option<&str> = Some("application/json");

fn quick() -> RetryPolicy {
    let (first_pause, longest_pause) = (Duration::from_millis(1), Duration::from_millis(2));
    RetryPolicy { retries: 3, first_pause, longest_pause, patient: false }
}

#[tokio::test]
async fn each_refusal_keeps_its_status_and_body() {
    let server = Server::start().await;
    let client = server.client();
    let error = |status: u16| {
        format!(r#"{{"code":"{status}","href":"","id":{status},"kind":"Error","reason":"because {status}"}}"#)
    };
    for status in [400, 404, 405, 409, 500, 501, 503, 504] {
        server.then(status, JSON, error(status));
        let refused = client.get_cluster(ClusterId::random()).await.unwrap_err();
        assert_eq!(refused.status(), Some(status));
        assert!(refused.to_string().contains(&format!("because {status}")), "{refused}");
        let Error::Refused(refusal) = refused else { panic!("refused") };
        assert!(refusal.is_of_the_api());
        assert!(matches!(refusal.body, ErrorBody::Error { id, .. } if id == i64::from(status)));
    }
    for status in [401, 403] {
        server.then(status, JSON, format!(r#"{{"code":{status},"message":"because {status}"}}"#));
        let refused = client.get_cluster(ClusterId::random()).await.unwrap_err();
        assert!(refused.remedy().unwrap().contains("token"));
        let Error::Refused(refusal) = refused else { panic!("refused") };
        assert!(refusal.is_of_the_api());
    }
    // What a log-in is refused for is no token.
    let response = Response::builder()
        .status(401)
        .header("content-type", "application/json")
        .header("link", r#"</docs/errors#log-in>; rel="help""#)
        .body(Body::from(r#"{"code":401,"message":"the password is wrong"}"#));
    server.answer(response.unwrap());
    assert!(client.get_cluster(ClusterId::random()).await.unwrap_err().remedy().is_none());
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    let server = Server::start().await;
    let response =
        Response::builder().status(302).header("location", "https://elsewhere/").body(Body::empty());
    server.answer(response.unwrap());
    let refused = server.client().get_cluster(ClusterId::random()).await.unwrap_err();
    assert!(refused.to_string().contains("https://elsewhere/"), "{refused}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn passing_failures_are_repeated_where_that_is_harmless() {
    let server = Server::start().await;
    let client = server.builder().retry(quick()).build().unwrap();
    server.then(503, JSON, "").then(504, Some("text/html"), "<p>").then(429, JSON, "").then(200, JSON, "[]");
    assert!(client.list_clusters(&Default::default()).await.unwrap().is_empty());
    let asked = server.requests();
    assert_eq!(asked.len(), 4);
    assert!(asked.iter().all(|again| again.headers["x-request-id"] == asked[0].headers["x-request-id"]));

    for _ in 0..4 {
        server.then(503, JSON, "");
    }
    assert_eq!(client.list_clusters(&Default::default()).await.unwrap_err().status(), Some(503));
    assert_eq!(server.requests().len(), 4);

    server.then(503, JSON, "");
    let install = client.install_cluster(ClusterId::random()).await;
    assert_eq!(install.unwrap_err().status(), Some(503));
    server.then(500, JSON, "");
    assert_eq!(client.list_clusters(&Default::default()).await.unwrap_err().status(), Some(500));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn long_answers_are_cut_off() {
    let server = Server::start().await;
    let client = server.builder().longest_answer(1_000).build().unwrap();
    server.then(200, JSON, format!("[{}]", " ".repeat(1_000)));
    let told = client.list_clusters(&Default::default()).await.unwrap_err();
    assert!(matches!(told, Error::TooLong { limit: 1_000, .. }));

    // Without a length, as an answer that never ends would come.
    let endless = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(" ".repeat(512)));
    server.answer(Response::new(Body::from_stream(endless)));
    let told = client.list_clusters(&Default::default()).await.unwrap_err();
    assert!(matches!(told, Error::TooLong { limit: 1_000, .. }));
}

#[tokio::test]
async fn what_is_no_answer_of_the_contract_is_told() {
    let server = Server::start().await;
    let client = server.client();
    for body in ["<html>", "{", "{\"a\":1}", &"[".repeat(100_000)] {
        server.then(200, JSON, body.to_owned());
        let malformed = client.list_clusters(&Default::default()).await.unwrap_err();
        assert!(matches!(malformed, Error::Malformed { .. }), "{malformed}");
    }
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::builder(&format!("http://{address}")).proxy_from_env(false).build().unwrap();
    let error = client.component_versions().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { failure: Failure::Refused, .. }), "{error:?}");
    assert!(error.remedy().unwrap().contains("port"));
    assert!(error.to_string().contains(&address.to_string()));
}

#[tokio::test]
async fn a_silent_service_runs_into_the_time_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = Client::builder(&url)
        .proxy_from_env(false)
        .timeout(Duration::from_millis(50))
        .retry(RetryPolicy::NONE)
        .build()
        .unwrap();
    let error = client.component_versions().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { failure: Failure::Timeout, .. }), "{error:?}");
}

#[tokio::test]
async fn files_come_in_pieces_with_a_harmless_name() {
    let server = Server::start().await;
    let response = Response::builder()
        .header("content-disposition", "attachment; filename=\"../../etc/passwd\"")
        .body(Body::from("abc"))
        .unwrap();
    server.answer(response);
    let call = server.client();
    let mut file = call
        .call(OperationId::DownloadClusterCredentials)
        .path("cluster_id", ClusterId::random())
        .query("file_name", Some("kubeconfig"))
        .download()
        .await
        .unwrap();
    assert_eq!((file.length(), file.file_name().as_deref()), (Some(3), Some("passwd")));
    assert_eq!(file.chunk().await.unwrap().unwrap(), "abc");
    assert!(file.chunk().await.unwrap().is_none());
}
