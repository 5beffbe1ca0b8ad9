//! Clients that take their time: each is cut off, and says what it was too slow for where it can still be told.

use std::path::Path;
use std::time::Duration;

use assisted_api::Timeouts;
use assisted_client::Client;
use assisted_config::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::life::register;
use crate::server::Server;

const SHORT: Duration = Duration::from_millis(50);

/// A server that does not cut off the slow client would let the test run into this.
const LIMIT: Duration = Duration::from_secs(30);

/// What is answered to a client that sends this much and no more, until the connection is closed.
async fn answered(server: &Server, sent: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is reset was cut off as well.
    let _ = tokio::time::timeout(LIMIT, stream.read_to_end(&mut answer)).await.expect("it is not cut off");
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn slow_clients_are_cut_off() {
    let timeouts = Timeouts { head: SHORT, body: SHORT, piece: SHORT, rest: SHORT, ..Timeouts::default() };
    let server = Server::start_with(Settings::default(), timeouts, None).await;
    let (cluster, _) = register(&server).await;
    let head = |path: &str, kind: &str| {
        format!(
            "POST /api/assisted-install/v2/clusters{path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n\
             Content-Length: 1000\r\nConnection: close\r\n\r\n"
        )
    };
    assert_eq!(answered(&server, "GET /ready HTTP/1.1\r\nHost:").await, "");
    assert_eq!(answered(&server, "").await, "");
    let answer = answered(&server, &(head("", "application/json") + r#"{"name":"#)).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.ends_with(r#"{"code":408,"message":"the body did not arrive in time"}"#), "{answer}");
    let path = format!("/{}/logs?logs_type=controller", cluster["id"].as_str().unwrap());
    let part = "--XX\r\nContent-Disposition: form-data; name=\"upfile\"; filename=\"x\"\r\n\r\nlog";
    for (sent, status) in [("", 408), (part, 400)] {
        let answer = answered(&server, &(head(&path, "multipart/form-data; boundary=XX") + sent)).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("the body did not arrive in time"), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_handshake_has_a_time_limit_too() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let (certificate, key) = (data.join("certificate.pem"), data.join("key.pem"));
    let _ = rustls::crypto::ring::default_provider().install_default();
    let tls = assisted_api::server::tls(&certificate, &key, "VersionTLS13").unwrap();
    let timeouts = Timeouts { handshake: SHORT, ..Timeouts::default() };
    let server = Server::start_with(Settings::default(), timeouts, Some(tls)).await;
    assert_eq!(answered(&server, "").await, "");
    // Who speaks TLS is served.
    let timeouts = Timeouts::default();
    let tls = assisted_api::server::tls(&certificate, &key, "").unwrap();
    server.stop().await;
    let server = Server::start_with(Settings::default(), timeouts, Some(tls)).await;
    let url = format!("https://localhost:{}", server.address.port());
    let client = Client::builder(&url).proxy_from_env(false).ca_file(&certificate).build().unwrap();
    assert!(client.list_clusters(&Default::default()).await.unwrap().is_empty());
    let stranger = Client::builder(&url).proxy_from_env(false).build().unwrap();
    let refused = stranger.list_clusters(&Default::default()).await.unwrap_err();
    assert!(refused.remedy().is_some_and(|remedy| remedy.contains("CA file")), "{refused:?}");
    server.stop().await;
}
