//! What nobody well-meaning sends.

use assisted_core::settings::Settings;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::Server;

/// Most memory that this process has held so far, KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_gibibyte_is_refused_in_little_memory() {
    let server = Server::start(Settings::default()).await;
    let before = peak_memory();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /api/assisted-install/v2/clusters HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    for _ in 0..1024 {
        stream.write_all(&chunk).await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(
        answer.ends_with(r#"{"code":413,"message":"the body is larger than 4194304 bytes"}"#),
        "{answer}"
    );
    // Other tests run beside this one in the same process.
    let grown = peak_memory() - before;
    assert!(grown < 512 * 1024, "{grown} KiB");
    server.stop().await;
}

#[tokio::test]
async fn a_million_levels_are_refused() {
    let server = Server::start(Settings::default()).await;
    for body in ["[".repeat(1_000_000), format!(r#"{{"platform":{}"#, r#"{"external":"#.repeat(1_000_000))] {
        let answer = server
            .client
            .post(format!("{}/v2/clusters", server.url))
            .header("Content-Type", "application/json")
            .body(body.clone())
            .send()
            .await
            .unwrap();
        assert!(matches!(answer.status().as_u16(), 400 | 413), "{}", answer.status());
        let error: Value = answer.json().await.unwrap();
        assert!(error["message"].is_string(), "{error}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_head_without_an_end_is_refused() {
    let server = Server::start(Settings::default()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /ready HTTP/1.1\r\nHost: x\r\nX-Long: ").await.unwrap();
    let part = vec![b'x'; 16 * 1024];
    let mut sent = 0;
    // The server answers or closes long before this; it never buffers it all.
    while sent < 64 << 20 && stream.write_all(&part).await.is_ok() {
        sent += part.len();
    }
    assert!(sent < 64 << 20);
    server.stop().await;
}

#[tokio::test]
async fn hostile_texts_are_data() {
    let server = Server::start(Settings::default()).await;
    let id = "11111111-2222-3333-4444-555555555555";
    for name in
        ["'; DROP TABLE hosts; --", "../../etc/passwd", "\u{0}\u{202e}", "${jndi:x}", &"n".repeat(100_000)]
    {
        let path = format!("/v2/infra-envs/{id}/hosts/{id}");
        let (status, body) = server.call(Method::PATCH, &path, Some(json!({"host_name": name}))).await;
        assert!((400..500).contains(&status), "{status} {body}");
    }
    server.stop().await;
}
