//! The listener: what it answers to whom, and what it does not read.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_base::idle::IdleTimeouts;
use assisted_base::pem;
use assisted_kubeapi::admission::certificate::{self, Stored};
use assisted_kubeapi::admission::server::{Clusters, serve};
use assisted_kubeapi::admission::tls::{Certified, Files, Protocols, server_config};
use assisted_kubeapi::webhook_server::listener::{self, Endpoint, Refused, WebhookHandler};
use assisted_testkit::Authority;
use assisted_testkit::http2::Connection;
use bytes::Bytes;
use jiff::Timestamp;
use reqwest::{Certificate, Client, StatusCode};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use super::{request, resource};

const PREFIX: &str = "apis/admission.agentinstall.openshift.io/v1";

/// Clusters by namespace and name; others can't be looked up.
struct Known(HashMap<(&'static str, &'static str), bool>);

impl Clusters for Known {
    async fn is_installed(&self, namespace: &str, name: &str) -> Result<bool, kube::Error> {
        if name == "silent" {
            std::future::pending::<()>().await;
        }
        let found = self.0.iter().find(|((ns, known), _)| (*ns, *known) == (namespace, name));
        found.map(|(_, installed)| *installed).ok_or(kube::Error::LinesCodecMaxLineLengthExceeded)
    }
}

struct Listening {
    url: String,
    client: Client,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<std::io::Result<()>>,
    address: SocketAddr,
}

/// A certificate, and a listener's settings with it.
fn certified() -> (Stored, Arc<ServerConfig>) {
    let names = ["127.0.0.1".to_owned()];
    let stored = certificate::next(None, &names, Timestamp::now(), false).unwrap().store.unwrap();
    let certified = Arc::new(Certified::default());
    certified.set(stored.certificate.as_bytes(), stored.key.expose().as_bytes()).unwrap();
    (stored, server_config(certified, &Protocols::default()).unwrap())
}

async fn listen() -> Listening {
    let (stored, tls) = certified();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let known = Known(HashMap::from([(("site", "there"), true), (("site", "coming"), false)]));
    let task = tokio::spawn(serve(listener, tls, Arc::new(known), stop.clone()));
    // Another test may have chosen the same already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = Certificate::from_pem(stored.bundle.as_bytes()).unwrap();
    let client = Client::builder().add_root_certificate(authority).build().unwrap();
    Listening { url: format!("https://{address}"), client, stop, task, address }
}

impl Listening {
    async fn get(&self, path: &str) -> (StatusCode, String) {
        let answer = self.client.get(format!("{}/{path}", self.url)).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }

    async fn post(&self, webhook: &str, body: String) -> (StatusCode, String) {
        let answer = self.client.post(format!("{}/{PREFIX}/{webhook}", self.url)).body(body);
        let answer = answer.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }
}

#[tokio::test]
async fn reviews_are_answered_and_all_else_is_refused() {
    let listening = listen().await;
    let infra_env = |name: &str, version: &str| {
        json!({"metadata": {"name": "a", "namespace": "site"},
               "spec": {"clusterRef": {"name": name, "namespace": "site"}, "osImageVersion": version}})
    };
    let own = resource("infraenvvalidators");
    for (cluster, allowed) in [("there", true), ("coming", false), ("unknown", false), ("silent", false)] {
        let review =
            request(&own, "UPDATE", Some(&infra_env(cluster, "")), Some(&infra_env(cluster, "4.20")));
        let (status, body) = listening.post("infraenvvalidators", review.to_string()).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &answer["response"]["allowed"]), (StatusCode::OK, &json!(allowed)), "{cluster}");
        assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
    }

    let large = "x".repeat(9 * 1024 * 1024);
    assert_eq!(listening.post("infraenvvalidators", large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let (status, told) = listening.post("infraenvvalidators", "{}".to_owned()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told.contains("AdmissionReview"), "{told}");
    assert_eq!(listening.post("clusterdeploymentvalidators", "{}".to_owned()).await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        listening.get(&format!("{PREFIX}/infraenvvalidators")).await.0,
        StatusCode::METHOD_NOT_ALLOWED
    );
    assert_eq!(listening.get("metrics").await.0, StatusCode::NOT_FOUND);
    assert_eq!(listening.get("healthz").await, (StatusCode::OK, "ok".to_owned()));

    listening.stop.cancel();
    listening.task.await.unwrap().unwrap();
    assert!(TcpStream::connect(listening.address).await.is_err());
}

const SHORT: Duration = Duration::from_secs(1);

/// A listener that does not do it would let the test run into this.
const LIMIT: Duration = Duration::from_secs(60);

/// A webhook whose clients soon have to ask.
struct Impatient;

impl WebhookHandler for Impatient {
    const MOST_BYTES: usize = 1024;
    const MOST_AT_A_TIME: usize = 1;
    const IDLE: IdleTimeouts = IdleTimeouts { first: SHORT, next: SHORT };

    fn endpoint(&self, _: &str) -> Endpoint {
        Endpoint::Webhook
    }

    async fn answer(&self, _: &str, _: Bytes) -> Result<Value, Refused> {
        Ok(json!({}))
    }
}

/// A connection to a listener, on which a protocol is spoken.
async fn connect(address: SocketAddr, stored: &Stored, protocol: &[u8]) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(pem::certificates(stored.bundle.as_bytes()).unwrap());
    let mut tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap()
}

/// Speaks HTTP/2 with a listener.
async fn speak(address: SocketAddr, stored: &Stored) -> Connection<TlsStream<TcpStream>> {
    Connection::open(connect(address, stored, b"h2").await).await.unwrap()
}

/// Waits until a connection is cut off, which pings until then.
async fn cut_off(mut connection: Connection<TlsStream<TcpStream>>) {
    let ended = async {
        while connection.is_there().await {
            sleep(SHORT / 10).await;
        }
    };
    timeout(LIMIT, ended).await.expect("it is not cut off");
}

#[tokio::test]
async fn a_connection_that_only_pings_is_cut_off() {
    let (stored, tls) = certified();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let (_, tls) = watch::channel(tls);
    let task = tokio::spawn(listener::serve(listener, tls, Arc::new(Impatient), stop.clone()));
    let mut connection = speak(address, &stored).await;
    connection.ask(1, "/review", true).await.unwrap();
    // It stays as long as something is answered: the body of the review does not come.
    let begun = Instant::now();
    while begun.elapsed() < SHORT * 4 {
        assert!(connection.is_there().await, "it is cut off too early");
        sleep(SHORT / 10).await;
    }
    connection.cancel(1).await.unwrap();
    cut_off(connection).await;
    // So is one on which nothing was ever asked.
    cut_off(speak(address, &stored).await).await;
    stop.cancel();
    task.await.unwrap().unwrap();
}

/// A document that is longer than what kernels keep of a few of its kind.
const DOCUMENT: usize = 1 << 20;

/// A server of documents whose clients soon have to take what they asked for.
struct Talkative;

impl WebhookHandler for Talkative {
    const MOST_BYTES: usize = 1024;
    const MOST_AT_A_TIME: usize = 1;
    const WRITE: Duration = Duration::from_millis(100);

    fn endpoint(&self, _: &str) -> Endpoint {
        Endpoint::Document(Value::String("x".repeat(DOCUMENT)))
    }

    async fn answer(&self, _: &str, _: Bytes) -> Result<Value, Refused> {
        Ok(json!({}))
    }
}

#[tokio::test]
async fn who_asks_and_does_not_read_is_cut_off() {
    const ASKED: usize = 60;
    let (stored, tls) = certified();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let (_, tls) = watch::channel(tls);
    let task = tokio::spawn(listener::serve(listener, tls, Arc::new(Talkative), stop.clone()));
    let mut stream = connect(address, &stored, b"http/1.1").await;
    let question = "GET /document HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(question.repeat(ASKED).as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    sleep(SHORT).await;
    let mut answers = Vec::new();
    // A connection that is reset was cut off as well.
    let _ = timeout(LIMIT, stream.read_to_end(&mut answers)).await.expect("it is not cut off");
    assert!(answers.len() < ASKED * DOCUMENT, "{}", answers.len());
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_api_server_that_aggregates_it_finds_what_it_asks_for() {
    let listening = listen().await;
    let ask = async |path: &str| -> Value {
        let (status, body) = listening.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        serde_json::from_str(&body).unwrap()
    };
    let groups = ask("apis").await;
    assert_eq!(
        groups["groups"][0]["preferredVersion"]["groupVersion"],
        "admission.agentinstall.openshift.io/v1"
    );
    assert_eq!(ask("apis/admission.agentinstall.openshift.io").await["kind"], "APIGroup");
    let resources = ask(PREFIX).await;
    let names: Vec<_> = resources["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "agentclusterinstallmutators",
            "agentclusterinstallvalidators",
            "infraenvvalidators",
            "agentvalidators",
            "agentclassificationvalidators"
        ]
    );
    assert_eq!(ask("openapi/v2").await["swagger"], "2.0");
}

#[tokio::test]
async fn certificates_in_files_are_shown_and_read_anew() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new("first").unwrap();
    let (certificate, key) = authority.certificate(dir.path(), &["localhost"], (2020, 2100)).unwrap();
    let files = Files { certificate, key };
    let certified = Arc::new(Certified::default());
    files.show(&certified).unwrap();
    assert!(certified.is_set());
    std::fs::write(&files.key, "no key").unwrap();
    assert!(files.show(&certified).unwrap_err().to_string().contains("PEM"));
    std::fs::remove_file(&files.key).unwrap();
    assert!(files.show(&certified).unwrap_err().to_string().contains("can't be read"));
}
