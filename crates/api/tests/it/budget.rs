//! What all who ask may hold together, and each of them.

use std::net::IpAddr;
use std::time::Duration;

use assisted_api::Timeouts;
use assisted_config::{Settings, Size};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::files::{FORM, form};
use crate::life::{HOST, PULL_SECRET, register};
use crate::server::Server;

/// A server that does not do it would let the test run into this.
const LIMIT: Duration = Duration::from_secs(60);

fn count(number: usize) -> std::num::NonZeroUsize {
    number.try_into().unwrap()
}

/// What is refused for now says so, and when to come back.
fn is_busy(answer: &Response, status: u16) -> bool {
    answer.status() == status && answer.headers().contains_key("retry-after")
}

#[tokio::test]
async fn bodies_that_are_held_have_a_budget() {
    let mut settings = Settings::default();
    settings.limits.bodies = Size(1 << 20);
    let server = Server::start(settings).await;
    let body = json!({
        "name": "c", "openshift_version": "4.20", "pull_secret": PULL_SECRET, "additional_ntp_source": "x".repeat(200_000),
    });
    let ask = || server.client.post(format!("{}/v2/clusters", server.url)).json(&body).send();
    // It is refused for what it says, not for how long it is.
    assert_eq!(ask().await.unwrap().status(), 400);
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = "POST /api/assisted-install/v2/clusters HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                    Content-Length: 300000\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&[b' '; 250_000]).await.unwrap();
        slow.push(stream);
    }
    let full = async {
        while !is_busy(&ask().await.unwrap(), 503) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, full).await.unwrap();
    // Short ones still have room, and all have when the slow ones are gone.
    drop(slow);
    let empty = async {
        while ask().await.unwrap().status() != 400 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, empty).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn one_peer_has_so_many_connections() {
    let mut settings = Settings::default();
    settings.limits.connections_per_peer = count(2);
    let server = Server::start(settings).await;
    let ask = async |stream: &mut TcpStream| {
        let sent = stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut answer = [0; 12];
        sent.is_ok() && stream.read_exact(&mut answer).await.is_ok() && answer == *b"HTTP/1.1 200"
    };
    let mut held = Vec::new();
    for expected in [true, true, false] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        assert_eq!(ask(&mut stream).await, expected);
        held.push(stream);
    }
    drop(held);
    let again = async { while !ask(&mut TcpStream::connect(server.address).await.unwrap()).await {} };
    tokio::time::timeout(LIMIT, again).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn one_caller_has_so_many_watches() {
    let mut settings = Settings::default();
    settings.limits.watches_per_caller = count(2);
    let server = Server::start(settings).await;
    let watch = || server.client.get(format!("{}/v2/watch", server.url)).send();
    let held = [watch().await.unwrap(), watch().await.unwrap()];
    assert!(held.iter().all(|answer| answer.status() == 200));
    assert!(is_busy(&watch().await.unwrap(), 503));
    drop(held);
    let again = async { while watch().await.unwrap().status() != 200 {} };
    tokio::time::timeout(LIMIT, again).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn one_caller_tells_so_many_events() {
    let mut settings = Settings::default();
    settings.limits.events_per_minute = count(3);
    let server = Server::start(settings).await;
    let (cluster, _) = register(&server).await;
    let event = |props: &str| {
        json!({
            "name": "n", "severity": "info", "category": "user", "message": "m", "event_time": "2026-01-01T00:00:00Z",
            "cluster_id": cluster["id"], "props": props,
        })
    };
    let tell = |props: &str| {
        let request = server.client.post(format!("{}/v2/events", server.url));
        request.json(&event(props)).send()
    };
    let long = json!({"x": "y".repeat(100_000)}).to_string();
    assert_eq!(tell(&long).await.unwrap().status(), 201);
    for _ in 0..2 {
        assert_eq!(tell("{}").await.unwrap().status(), 201);
    }
    assert!(is_busy(&tell("{}").await.unwrap(), 429));
    // What is too long is not kept.
    let path = format!("/v2/events?cluster_id={}", cluster["id"].as_str().unwrap());
    let (_, events) = server.call(Method::GET, &path, None).await;
    assert!(events.to_string().len() < 50_000);
    server.stop().await;
}

#[tokio::test]
async fn an_infra_env_has_so_many_hosts() {
    let mut settings = Settings::default();
    settings.limits.hosts_per_infra_env = count(2);
    let server = Server::start(settings).await;
    let (_, infra_env) = register(&server).await;
    let path = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    let register = async |id: &Value| server.call(Method::POST, &path, Some(json!({"host_id": id}))).await.0;
    let ids: Vec<Value> = (0..3).map(|_| json!(Uuid::new_v4())).collect();
    for (id, status) in [(0, 201), (1, 201), (2, 429), (0, 201), (1, 201), (2, 429)] {
        assert_eq!(register(&ids[id]).await, status, "{id}");
    }
    server.stop().await;
}

#[tokio::test]
async fn who_asks_and_does_not_read_is_cut_off() {
    const ASKED: usize = 400;
    let timeouts = Timeouts { write: Duration::from_millis(100), ..Timeouts::default() };
    let server = Server::start_with(Settings::default(), timeouts, None).await;
    let url = format!("{}/v2/openapi", server.url);
    let length = server.client.get(url).send().await.unwrap().bytes().await.unwrap().len();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let question = "GET /api/assisted-install/v2/openapi HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(question.repeat(ASKED).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut answers = Vec::new();
    // A connection that is reset was cut off as well.
    let _ = tokio::time::timeout(LIMIT, stream.read_to_end(&mut answers)).await.expect("it is not cut off");
    assert!(answers.len() < ASKED * length, "{}", answers.len());
    server.stop().await;
}

#[tokio::test]
async fn one_peer_uploads_so_many_logs() {
    let mut settings = Settings::default();
    settings.limits.uploads_per_peer = count(2);
    let server = Server::start(settings).await;
    let (cluster, _) = register(&server).await;
    let path = format!("/v2/clusters/{}/logs?logs_type=controller", cluster["id"].as_str().unwrap());
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!(
            "POST /api/assisted-install{path} HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: 1000000\r\n\
             Expect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // It is asked for by whoever has a place.
        let mut asked = [0; 25];
        tokio::time::timeout(LIMIT, stream.read_exact(&mut asked)).await.unwrap().unwrap();
        assert_eq!(asked, *b"HTTP/1.1 100 Continue\r\n\r\n");
        held.push(stream);
    }
    let other = Client::builder().local_address(IpAddr::from([127, 0, 0, 2])).build().unwrap();
    let send = |client: &Client| {
        let request = client.post(format!("{}{path}", server.url)).header("Content-Type", FORM);
        request.body(form("upfile", b"logs")).send()
    };
    assert!(is_busy(&send(&server.client).await.unwrap(), 503));
    // Others have their places.
    assert_eq!(send(&other).await.unwrap().status(), 204);
    drop(held);
    let again = async { while send(&server.client).await.unwrap().status() != 204 {} };
    tokio::time::timeout(LIMIT, again).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn logs_that_trickle_are_cut_off() {
    let timeouts = Timeouts { piece: Duration::from_secs(1), rate: 1 << 30, ..Timeouts::default() };
    let server = Server::start_with(Settings::default(), timeouts, None).await;
    let (cluster, _) = register(&server).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /api/assisted-install/v2/clusters/{}/logs?logs_type=controller HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: 1000000\r\n\r\n\
         --XX\r\nContent-Disposition: form-data; name=\"upfile\"; filename=\"x\"\r\n\r\n",
        cluster["id"].as_str().unwrap()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 4096];
    let told = async {
        loop {
            tokio::select! {
                read = stream.readable() => read.unwrap(),
                () = tokio::time::sleep(Duration::from_millis(100)) => {
                    let _ = stream.write_all(b"x").await;
                    continue;
                }
            }
            return stream.try_read(&mut answer).unwrap();
        }
    };
    let length = tokio::time::timeout(LIMIT, told).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(answer.contains("the body did not arrive in time"), "{answer}");
    server.stop().await;
}

/// Each of its replies is as long as one may be, and can't be read.
#[tokio::test]
async fn a_host_that_never_stops_telling_is_not_read_for_a_while() {
    let server = Server::start(Settings::default()).await;
    let (_, infra_env) = register(&server).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    let other = Uuid::new_v4().to_string();
    for host in [HOST, &other] {
        assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": host}))).await.0, 201);
    }
    let reply = |host: &str, output: String| {
        let url = format!("{}{hosts}/{host}/instructions", server.url);
        server
            .client
            .post(url)
            .json(&json!({"step_type": "inventory", "step_id": "x", "output": output}))
            .send()
    };
    let long = || "n".repeat((16 << 20) - 1024);
    let mut read = 0;
    let refused = loop {
        let answer = reply(HOST, long()).await.unwrap();
        if is_busy(&answer, 503) {
            break answer;
        }
        assert_eq!(answer.status(), 400);
        read += 1;
        assert!(read < 100, "it may go on for ever");
    };
    assert!(read >= 4, "{read}");
    let told: Value = refused.json().await.unwrap();
    assert!(told["reason"].as_str().unwrap().starts_with("The host has sent more than it may"), "{told}");
    // It is there all the same, and others are heard.
    assert_eq!(server.call(Method::GET, &format!("{hosts}/{HOST}/instructions"), None).await.0, 200);
    assert_eq!(reply(&other, long()).await.unwrap().status(), 400);
    server.stop().await;
}
