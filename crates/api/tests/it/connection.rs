//! What surrounds every operation: origins, request ids, compression, health, and the end of the service.

use std::io::Read;
use std::time::Duration;

use assisted_api::Api;
use assisted_api::server::serve_at_most;
use assisted_config::Settings;
use assisted_store::{EventQuery, Store};
use assisted_wire::id::ClusterId;
use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::life::PULL_SECRET;
use crate::server::Server;

const COUNTS: &str =
    "Severity-Count-Info, Severity-Count-Warning, Severity-Count-Error, Severity-Count-Critical, Event-Count";

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

async fn from_origin(server: &Server, method: Method, path: &str, origin: &str) -> Response {
    let request =
        server.client.request(method.clone(), format!("{}{path}", server.url)).header("Origin", origin);
    let request = match method {
        Method::OPTIONS => request.header("Access-Control-Request-Method", "PATCH"),
        _ => request,
    };
    request.send().await.unwrap()
}

#[tokio::test]
async fn pages_of_other_origins() {
    let mut settings = Settings::default();
    settings.http.allowed_domains = vec!["https://ui.example.com".to_owned(), "https://*.lab.net".to_owned()];
    let server = Server::start(settings).await;
    for origin in ["https://ui.example.com", "https://a.lab.net"] {
        // A page may read refusals too.
        for (path, status) in [("/v2/clusters", 200), ("/v2/clusters/x", 400), ("/v3", 404)] {
            let answer = from_origin(&server, Method::GET, path, origin).await;
            assert_eq!(answer.status(), status);
            assert_eq!(header(answer.headers(), "access-control-allow-origin"), Some(origin), "{path}");
            assert_eq!(header(answer.headers(), "access-control-expose-headers"), Some(COUNTS));
            assert_eq!(header(answer.headers(), "vary"), Some("Origin"));
        }
        let asked = from_origin(&server, Method::OPTIONS, "/v2/clusters", origin).await;
        assert_eq!(asked.status(), 204);
        for (name, value) in [
            ("access-control-allow-origin", origin),
            ("access-control-allow-methods", "DELETE, GET, PATCH, POST, PUT, HEAD, OPTIONS"),
            ("access-control-allow-headers", &format!("Authorization, Content-Type, {COUNTS}")),
            ("access-control-max-age", "600"),
        ] {
            assert_eq!(header(asked.headers(), name), Some(value), "{name}");
        }
    }
    for origin in ["https://evil.net", "https://ui.example.com.evil.net", "null"] {
        let answer = from_origin(&server, Method::GET, "/v2/clusters", origin).await;
        assert_eq!(
            (answer.status().as_u16(), header(answer.headers(), "access-control-allow-origin")),
            (200, None)
        );
        let asked = from_origin(&server, Method::OPTIONS, "/v2/clusters", origin).await;
        assert_eq!(
            (asked.status().as_u16(), header(asked.headers(), "access-control-allow-methods")),
            (405, None)
        );
    }
    server.stop().await;

    let server = Server::start(Settings::default()).await;
    let answer = from_origin(&server, Method::GET, "/v2/clusters", "https://ui.example.com").await;
    assert_eq!(header(answer.headers(), "access-control-allow-origin"), None);
    server.stop().await;
}

#[tokio::test]
async fn request_ids_stand_in_the_events() {
    let server = Server::start(Settings::default()).await;
    let body = json!({"name": "c", "openshift_version": "4.20", "pull_secret": PULL_SECRET});
    let given = "11111111-2222-3333-4444-555555555555";
    let store = Store::open(&server.database).await.unwrap();
    for sent in [Some(given), Some("no uuid"), Some(""), None] {
        let request = server.client.post(format!("{}/v2/clusters", server.url)).json(&body);
        let request = match sent {
            Some(id) => request.header("X-Request-ID", id),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let told = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
        let told: Uuid = told.parse().unwrap();
        assert_eq!(sent == Some(given), told.to_string() == given);
        let cluster: Value = answer.json().await.unwrap();
        let cluster_id: ClusterId = cluster["id"].as_str().unwrap().parse().unwrap();
        let query = EventQuery { cluster_id: Some(cluster_id), ..EventQuery::default() };
        let events = store.events(&query).await.unwrap().events;
        let registered = events.iter().find(|event| event.name == "cluster_registration_succeeded").unwrap();
        assert_eq!(registered.request_id, Some(told));
        // What the service does by itself was asked for by nobody.
        assert!(events.iter().all(|event| event.request_id.is_none_or(|id| id == told)));
    }
    server.stop().await;
}

#[tokio::test]
async fn large_answers_are_packed_for_those_who_ask() {
    let server = Server::start(Settings::default()).await;
    // This client unpacks nothing by itself.
    let client = reqwest::Client::builder().no_gzip().no_brotli().no_deflate().build().unwrap();
    let get = async |path: &str, coding: &str| {
        let request = client.get(format!("{}{path}", server.url)).header("Accept-Encoding", coding);
        request.send().await.unwrap()
    };
    let plain = get("/v2/openapi", "identity").await;
    assert_eq!(header(plain.headers(), "content-encoding"), None);
    let plain = plain.bytes().await.unwrap();
    for coding in ["gzip", "br, gzip;q=0.5", "*"] {
        let packed = get("/v2/openapi", coding).await;
        assert_eq!(header(packed.headers(), "content-encoding"), Some("gzip"), "{coding}");
        let packed = packed.bytes().await.unwrap();
        assert!(packed.len() * 4 < plain.len());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
    }
    for (path, coding) in [("/v2/openapi", "gzip;q=0"), ("/v2/openapi", "br"), ("/v2/clusters", "gzip")] {
        assert_eq!(header(get(path, coding).await.headers(), "content-encoding"), None, "{path} {coding}");
    }
    server.stop().await;
}

#[tokio::test]
async fn health() {
    let server = Server::start(Settings::default()).await;
    for path in ["health", "ready", "/health/"] {
        let answer = server.client.get(format!("http://{}/{path}", server.address)).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.text().await.unwrap().as_str()), (200, ""), "{path}");
    }
    // They are no operations.
    assert_eq!(server.call(Method::GET, "/health", None).await.0, 404);
    server.stop().await;

    let mut settings = Settings::default();
    settings.http.liveness_validation_timeout = Duration::ZERO;
    let server = Server::start(settings).await;
    let answer = server.client.get(format!("http://{}/health", server.address)).send().await.unwrap();
    assert_eq!(answer.status(), 500);
    let body: Value = answer.json().await.unwrap();
    assert!(body["reason"].as_str().unwrap().starts_with("the scheduler last looked "), "{body}");
    server.stop().await;
}

#[tokio::test]
async fn methods_and_paths() {
    let server = Server::start(Settings::default()).await;
    let answer = server.client.head(format!("{}/v2/clusters", server.url)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), header(answer.headers(), "allow")), (405, Some("GET,POST")));
    for (path, status) in [
        ("/v2/clusters", 200),
        ("//v2//clusters///", 200),
        ("/v2/clusters/default-config", 200),
        ("/v2/clusters//default-config/?x=y", 200),
        ("/V2/clusters", 404),
        ("/v2", 404),
        ("/v2/clusters/11111111-2222-3333-4444-555555555555/", 404),
        ("/v2/clusters/..%2fevents", 400),
    ] {
        let (found, body) = server.call(Method::GET, path, None).await;
        assert_eq!(found, status, "{path} {body}");
    }
    let body = json!({"name": "c", "openshift_version": "4.20", "pull_secret": PULL_SECRET});
    assert_eq!(server.call(Method::POST, "//v2//clusters//", Some(body)).await.0, 201);
    server.stop().await;
}

/// A request whose body the server waits for; the server has said so.
async fn begun(server: &Server, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /api/assisted-install/v2/clusters HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut told = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[tokio::test]
async fn requests_under_way_are_finished() {
    let server = Server::start(Settings::default()).await;
    let body = json!({"name": "c", "openshift_version": "4.20", "pull_secret": PULL_SECRET}).to_string();
    let (address, database) = (server.address, server.database.clone());
    let mut idle = TcpStream::connect(address).await.unwrap();
    let mut stream = begun(&server, &body).await;
    let dir = server.keep();
    let stopping = tokio::spawn(server.stop());
    // Nobody else gets in.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!stopping.is_finished());
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    // A connection that asks nothing is closed.
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap_or_default(), 0);
    stopping.await.unwrap();
    // What was answered is kept.
    let store = Store::open(&database).await.unwrap();
    assert_eq!(store.clusters(&assisted_store::ClusterFilter::default()).await.unwrap().len(), 1);
    drop(dir);
}

#[tokio::test]
async fn connections_end_with_their_answers_when_they_are_many() {
    let server = Server::start(Settings::default()).await;
    let api = Api::new(server.service.clone(), &Settings::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(serve_at_most(8, listener, None, api, async {
        let _ = stopped.await;
    }));
    let mut kept = Vec::new();
    let mut ended = loop {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        if head.contains("connection: close") {
            break stream;
        }
        kept.push(stream);
    };
    // The one that is accepted next counts, or doesn't count yet.
    assert!((3..=4).contains(&kept.len()), "{}", kept.len());
    ended.read_to_end(&mut Vec::new()).await.unwrap();
    drop(kept);
    stop.send(()).unwrap();
    served.await.unwrap().unwrap();
    server.stop().await;
}
