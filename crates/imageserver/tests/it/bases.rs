//! Base images: fetched, interrupted, checked, kept, and served while they arrive.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use assisted_imageserver::Options;
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::api::{Api, ID};
use crate::client::{client, get};
use crate::iso::Iso;
use crate::server::{Server, entry};

/// A server of base images; it knows one file under every path, and does to it what a test wants.
#[derive(Clone)]
struct Source {
    url: String,
    plan: Arc<Mutex<Plan>>,
    seen: Arc<Mutex<Vec<BTreeMap<String, String>>>>,
}

#[derive(Clone)]
struct Plan {
    status: u16,
    etag: &'static str,
    /// The body ends after so many bytes.
    cut: usize,
    /// Only so much is sent until it grows.
    open: watch::Receiver<usize>,
    chunked: bool,
    /// Where it points to with another status than 200.
    location: String,
    content: Arc<Vec<u8>>,
}

impl Source {
    async fn start() -> (Self, watch::Sender<usize>) {
        let (gate, open) = watch::channel(usize::MAX);
        let content = Arc::new(Iso::x86_64().bytes.clone());
        let plan = Plan {
            status: 200,
            etag: "\"one\"",
            cut: usize::MAX,
            open,
            chunked: false,
            location: String::new(),
            content,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/image.iso?key=hidden", listener.local_addr().unwrap());
        let source = Self { url, plan: Arc::new(Mutex::new(plan)), seen: Arc::default() };
        let serving = source.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let source = serving.clone();
                tokio::spawn(async move { source.answer(stream).await });
            }
        });
        (source, gate)
    }

    fn plan(&self, change: impl FnOnce(&mut Plan)) {
        change(&mut self.plan.lock().unwrap());
    }

    /// What was asked, but for the end of the image that is fetched first.
    fn seen(&self) -> Vec<BTreeMap<String, String>> {
        let size = Iso::x86_64().bytes.len();
        let end = format!("bytes={}-", size - size / 8);
        let all = self.seen.lock().unwrap();
        all.iter().filter(|asked| asked.get("range") != Some(&end)).cloned().collect()
    }

    async fn answer(&self, mut stream: TcpStream) -> Option<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let mut asked: BTreeMap<_, _> = [("target".to_owned(), lines.next()?.to_owned())].into();
        asked.extend(
            lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned())),
        );
        let plan = self.plan.lock().unwrap().clone();
        let (content, etag) = (&plan.content, plan.etag);
        let from = asked
            .get("range")
            .filter(|_| asked.get("if-range").map(String::as_str) == Some(etag))
            .map(|range| range.trim_start_matches("bytes=").trim_end_matches('-').parse::<usize>().unwrap());
        self.seen.lock().unwrap().push(asked);
        let length = content.len();
        let mut answer = match (plan.status, from) {
            (200, Some(from)) => {
                format!(
                    "HTTP/1.1 206 Partial\r\ncontent-range: bytes {from}-{}/{length}\r\ncontent-length: {}",
                    length - 1,
                    length - from
                )
            }
            (200, None) if plan.chunked => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked".to_owned(),
            (200, None) => format!("HTTP/1.1 200 OK\r\ncontent-length: {length}"),
            (status, _) => format!("HTTP/1.1 {status} X\r\nlocation: {}\r\ncontent-length: 0", plan.location),
        };
        answer += &format!("\r\netag: {etag}\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.ok()?;
        if plan.status != 200 || plan.chunked {
            return None;
        }
        // What is asked for out of its order is there at once.
        let mut open = if from.is_some() { watch::channel(usize::MAX).1 } else { plan.open.clone() };
        let mut at = from.unwrap_or(0);
        let end = length.min(plan.cut);
        while at < end {
            let until = *open.wait_for(|open| *open > at).await.ok()?;
            let until = until.min(end);
            stream.write_all(&content[at..until]).await.ok()?;
            at = until;
        }
        Some(())
    }
}

/// A server with TLS that points everybody to another one: its own address.
async fn secure(location: String) -> String {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let _ = client();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let tls = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/image.iso", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, location) = (acceptor.clone(), location.clone());
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await.ok()?;
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.ok()?);
                }
                let head = format!("HTTP/1.1 302 X\r\nlocation: {location}\r\ncontent-length: 0\r\n");
                stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).await.ok()?;
                stream.shutdown().await.ok()
            });
        }
    });
    url
}

async fn server(source: &Source, more: &str) -> Server {
    let list = [entry("4.18", "x86_64", "418.94", &source.url, more)];
    Server::with(&list, |_, _| {}).await
}

/// How far the first image is.
async fn state(server: &Server, wanted: &str) -> Value {
    let first = |text: &str| serde_json::from_str::<Value>(text).unwrap()[0].clone();
    let answer = server.until("/base-images", |answer| first(&answer.text())["state"] == wanted).await;
    first(&answer.text())
}

const ROOTFS: &str = "/boot-artifacts/rootfs?version=4.18";

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_fetched_and_kept() {
    let (source, _gate) = Source::start().await;
    let change = |options: &mut Options| {
        options.fetch.headers = vec![("x-key".to_owned(), "v".to_owned())];
        options.fetch.query = vec![("extra".to_owned(), "a b".to_owned())];
    };
    let list = [entry("4.18", "x86_64", "418.94", &source.url, "")];
    let server = Server::with(&list, |options, _| change(options)).await;
    let state = state(&server, "ready").await;
    let size = Iso::x86_64().bytes.len();
    assert_eq!((&state["received_bytes"], &state["total_bytes"]), (&size.into(), &size.into()));
    assert!(get(&server, ROOTFS, &[]).await.body == Iso::x86_64().rootfs);
    let seen = source.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0]["target"], "GET /image.iso?key=hidden&extra=a+b HTTP/1.1");
    assert_eq!((seen[0]["x-key"].as_str(), seen[0]["accept-encoding"].as_str()), ("v", "identity"));
    let names: Vec<_> =
        fs::read_dir(server.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["rhcos-full-iso-418.94-x86_64.iso"]);
    // What is there is not fetched again.
    let (api, dir) = server.ended().await;
    let server = Server::within(api, dir, &list, |_, _| {}).await;
    server.ready().await;
    assert!(get(&server, ROOTFS, &[]).await.body == Iso::x86_64().rootfs);
    assert_eq!(source.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_is_not_told_what_is_for_the_first() {
    let (first, _gate) = Source::start().await;
    let (other, _other_gate) = Source::start().await;
    first.plan(|plan| (plan.status, plan.location) = (302, other.url.replace("hidden", "signed")));
    let list = [entry("4.18", "x86_64", "418.94", &first.url, "")];
    let server = Server::with(&list, |options, _| {
        options.fetch.headers = vec![("x-key".to_owned(), "v".to_owned())];
        options.fetch.query = vec![("extra".to_owned(), "b".to_owned())];
    })
    .await;
    state(&server, "ready").await;
    let (asked, followed) = (&first.seen()[0], &other.seen()[0]);
    assert_eq!(asked["target"], "GET /image.iso?key=hidden&extra=b HTTP/1.1");
    assert_eq!(asked["x-key"], "v");
    assert_eq!(followed["target"], "GET /image.iso?key=signed HTTP/1.1");
    assert_eq!(followed.get("x-key"), None);
    assert_eq!(followed["accept-encoding"], "identity");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_leads_nowhere_is_told() {
    let (source, _gate) = Source::start().await;
    for (location, told) in [
        ("", "it redirects to no address"),
        ("file:///etc/passwd", "it redirects to what is no address of a web server"),
        ("/again.iso", "it redirects too often"),
        ("http://127.0.0.2/image.iso", "it redirects to an address of this machine or its link"),
        ("http://169.254.169.254/latest", "it redirects to an address of this machine or its link"),
        ("http://localhost/image.iso", "localhost was named by another server"),
    ] {
        source.plan(|plan| (plan.status, plan.location) = (302, location.to_owned()));
        let server = server(&source, "").await;
        let state = state(&server, "failed").await.to_string();
        assert!(state.contains(told), "{state}");
    }
    // What was asked for by TLS does not come in the clear.
    let (plain, _open) = Source::start().await;
    let list = [entry("4.18", "x86_64", "418.94", &secure(plain.url.clone()).await, "")];
    let server = Server::with(&list, |options, _| options.fetch.insecure = true).await;
    let state = state(&server, "failed").await.to_string();
    assert!(state.contains("it redirects from https to what is not"), "{state}");
    assert!(plain.seen().is_empty(), "{:?}", plain.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_fetch_goes_on_where_it_ended() {
    let (source, _gate) = Source::start().await;
    source.plan(|plan| plan.cut = 3_000_000);
    let server = server(&source, "").await;
    let state = state(&server, "failed").await;
    assert_eq!(state["received_bytes"], 3_000_000);
    assert!(!state.to_string().contains("hidden"), "{state}");
    source.plan(|plan| plan.cut = usize::MAX);
    server.ready().await;
    let seen = source.seen();
    assert_eq!(seen[1]["range"], "bytes=3000000-");
    assert_eq!(seen[1]["if-range"], "\"one\"");
    assert!(
        fs::read(server.dir.path().join("rhcos-full-iso-418.94-x86_64.iso")).unwrap() == Iso::x86_64().bytes
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_goes_on_in_another_process() {
    let (source, gate) = Source::start().await;
    gate.send_replace(3_000_000);
    source.plan(|plan| plan.cut = 3_000_000);
    let list = [entry("4.18", "x86_64", "418.94", &source.url, "")];
    let server = Server::with(&list, |_, _| {}).await;
    state(&server, "failed").await;
    let (_, dir) = server.ended().await;
    gate.send_replace(usize::MAX);
    source.plan(|plan| plan.cut = usize::MAX);
    let before = source.seen().len();
    let server = Server::within(Api::start().await, dir, &list, |_, _| {}).await;
    server.ready().await;
    assert_eq!(source.seen()[before]["range"], "bytes=3000000-");
    assert!(get(&server, ROOTFS, &[]).await.body == Iso::x86_64().rootfs);
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_share_a_folder_fetch_an_image_once() {
    let (source, gate) = Source::start().await;
    gate.send_replace(3_000_000);
    let list = [entry("4.18", "x86_64", "418.94", &source.url, "")];
    let one = Server::with(&list, |_, _| {}).await;
    one.until("/base-images", |answer| !answer.text().contains("\"received_bytes\":0,")).await;
    let folder = one.dir.path().to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    let other =
        Server::within(Api::start().await, elsewhere, &list, |options, _| options.data_dir = folder).await;
    let waiting = state(&other, "failed").await;
    assert!(waiting["error"].as_str().unwrap().contains("the same folder"), "{waiting}");
    gate.send_replace(usize::MAX);
    for server in [&one, &other] {
        server.ready().await;
        assert!(get(server, ROOTFS, &[]).await.body == Iso::x86_64().rootfs);
    }
    // What it asked for before it found that it is not alone was not taken.
    assert!(source.seen().iter().all(|asked| !asked.contains_key("range")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_in_between_is_fetched_from_its_beginning() {
    let (source, _gate) = Source::start().await;
    source.plan(|plan| plan.cut = 3_000_000);
    let server = server(&source, "").await;
    state(&server, "failed").await;
    source.plan(|plan| (plan.etag, plan.cut) = ("\"two\"", usize::MAX));
    server.ready().await;
    assert!(
        fs::read(server.dir.path().join("rhcos-full-iso-418.94-x86_64.iso")).unwrap() == Iso::x86_64().bytes
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_image_is_not_kept_and_not_served() {
    let (source, _gate) = Source::start().await;
    let digest = |bytes: &[u8]| assisted_base::hex::encode(&Sha256::digest(bytes));
    let right = format!(r#","sha256":"{}""#, digest(&Iso::x86_64().bytes));
    let good = server(&source, &right).await;
    good.ready().await;

    let wrong = format!(r#","sha256":"{}""#, digest(b"other"));
    let server = server(&source, &wrong).await;
    let told = state(&server, "failed").await["error"].as_str().unwrap().to_owned();
    assert!(told.contains("SHA-256"), "{told}");
    let answer = get(&server, ROOTFS, &[]).await;
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("SHA-256"), "{}", answer.text());
    assert!(answer.header("retry-after").parse::<u32>().unwrap() > 1);
    assert_eq!(fs::read_dir(server.dir.path()).unwrap().count(), 0);

    for (content, part) in [
        (crate::iso::noise(1, 200_000), "not a usable ISO"),
        (Iso::x86_64().bytes[..5_000_000].to_vec(), "incomplete"),
        (
            {
                let mut bytes = Iso::x86_64().bytes.clone();
                bytes[32808..32813].copy_from_slice(b"other");
                bytes
            },
            "ISO volume identifier (other-test) is invalid",
        ),
    ] {
        source.plan(|plan| plan.content = Arc::new(content));
        let server = self::server(&source, "").await;
        let told = state(&server, "failed").await["error"].as_str().unwrap().to_owned();
        assert!(told.contains(part), "{told}");
        assert_eq!(fs::read_dir(server.dir.path()).unwrap().count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thresholds_are_those_of_real_images() {
    let (source, _gate) = Source::start().await;
    let list = [entry("4.18", "x86_64", "418.94", &source.url, "")];
    let server = Server::with(&list, |options, _| options.fetch.least = Default::default()).await;
    let told = state(&server, "failed").await["error"].as_str().unwrap().to_owned();
    assert!(told.contains("rootfs size 6291456 bytes is below minimum 104857600"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_address_harms_no_other() {
    let (good, _gate) = Source::start().await;
    let (gone, _other) = Source::start().await;
    gone.plan(|plan| plan.status = 404);
    let (endless, _another) = Source::start().await;
    endless.plan(|plan| plan.chunked = true);
    let list = [
        entry("4.15", "x86_64", "415", &gone.url, ""),
        entry("4.16", "x86_64", "416", &endless.url, ""),
        entry("4.17", "x86_64", "417", "http://127.0.0.1:1/image.iso?key=hidden", ""),
        entry("4.18", "x86_64", "418.94", &good.url, ""),
    ];
    let server = Server::with(&list, |options, _| options.fetch.parallel = 1).await;
    server.ready().await;
    assert!(get(&server, ROOTFS, &[]).await.body == Iso::x86_64().rootfs);
    // While a fetch is tried once more, what became of the last try is not shown.
    let both = |text: &str| text.contains("404 Not Found") && text.contains("does not tell the length");
    let told = server.until("/base-images", |answer| both(&answer.text())).await.text();
    assert!(!told.contains("hidden"), "{told}");
    let answer = get(&server, "/boot-artifacts/rootfs?version=4.17", &[]).await;
    assert_eq!(answer.status, 503);
    let text = answer.text();
    assert!(
        text.starts_with("the base image 417-x86_64 can't be fetched: ") && !text.contains("hidden"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_can_be_fetched_when_it_is_asked_for() {
    let (source, _gate) = Source::start().await;
    let list = [entry("4.18", "x86_64", "418.94", &source.url, "")];
    let server = Server::with(&list, |options, _| options.fetch.eager = false).await;
    // Nothing is missing yet.
    assert_eq!(get(&server, "/health", &[]).await.status, 200);
    state(&server, "idle").await;
    assert!(source.seen().is_empty());
    let answer = get(&server, ROOTFS, &[]).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
    assert_eq!(answer.text(), "the base image 418.94-x86_64 is going to be fetched\n");
    state(&server, "ready").await;
    assert!(get(&server, ROOTFS, &[]).await.body == Iso::x86_64().rootfs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_shown_what_is_waited_for() {
    let (source, gate) = Source::start().await;
    gate.send_replace(1);
    let list = [entry("4.18", "x86_64", "418.94", &source.url, "")];
    let server = Server::with(&list, |options, _| options.fetch.eager = false).await;
    state(&server, "idle").await;
    let (path, browser) = (format!("/byid/{ID}/4.18/x86_64/full.iso"), [("accept", "text/html,*/*;q=0.8")]);
    let page = get(&server, &path, &browser).await;
    assert_eq!((page.status, page.header("retry-after")), (503, "5"));
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.header("content-security-policy").starts_with("default-src 'none';"));
    let text = page.text();
    for part in [
        "<meta http-equiv=\"refresh\" content=\"5\">",
        "because the base image 418.94-x86_64 is going to be fetched.",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // Programs are told by a line, as ever.
    assert_eq!(get(&server, &path, &[]).await.header("content-type"), "text/plain; charset=utf-8");
    // The page asks for the same, and gets the image.
    gate.send_replace(usize::MAX);
    state(&server, "ready").await;
    let image = get(&server, &path, &browser).await;
    assert_eq!((image.status, image.body.len()), (200, Iso::x86_64().bytes.len()));
    assert_eq!(image.header("content-type"), "application/octet-stream");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_served_while_its_base_arrives() {
    let (source, gate) = Source::start().await;
    gate.send_replace(2_500_000);
    let server = server(&source, "").await;
    assert_eq!(get(&server, "/health", &[]).await.status, 503);
    state(&server, "arriving").await;
    let url = server.url(&format!("/byid/{ID}/4.18/x86_64/full.iso"));
    let mut response = client().get(&url).send().await.unwrap();
    assert_eq!(response.content_length(), Some(Iso::x86_64().bytes.len() as u64));
    let mut body = Vec::new();
    // All but what is held back arrives while the rest is not there yet.
    while body.len() < 1_000_000 {
        body.extend_from_slice(&response.chunk().await.unwrap().unwrap());
    }
    gate.send_replace(usize::MAX);
    while let Some(chunk) = response.chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    server.ready().await;
    let after = get(&server, &format!("/byid/{ID}/4.18/x86_64/full.iso"), &[]).await;
    assert!(body == after.body);
    assert_eq!(response.headers()["etag"], after.header("etag"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_whose_base_turns_out_bad_never_ends_well() {
    let (source, gate) = Source::start().await;
    gate.send_replace(2_500_000);
    let server = server(&source, &format!(r#","sha256":"{}""#, "00".repeat(32))).await;
    state(&server, "arriving").await;
    let url = server.url(&format!("/byid/{ID}/4.18/x86_64/full.iso"));
    let response = client().get(&url).send().await.unwrap();
    assert_eq!(response.status(), 200);
    gate.send_replace(usize::MAX);
    assert!(response.bytes().await.is_err());
    state(&server, "failed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_administrator_left_is_used() {
    let archive = crate::iso::noise(9, 4000);
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("nmstatectl-418.94-x86_64"), &archive).unwrap();
    fs::write(dir.path().join("rhcos-full-iso-417-x86_64.iso"), "old").unwrap();
    let api = Api::start().await;
    api.reply("ramdisk", crate::api::Reply::new(200, "ramdisk."));
    let list = [entry("4.18", "x86_64", "418.94", &Iso::x86_64().url(), "")];
    let server = Server::within(api, dir, &list, |_, _| {}).await;
    server.ready().await;
    let initrd = get(&server, &format!("/images/{ID}/pxe-initrd?version=4.18"), &[]).await.body;
    assert!(initrd.ends_with(&[b"ramdisk.", archive.as_slice()].concat()));
    let minimal = get(&server, &format!("/byid/{ID}/4.18/x86_64/minimal.iso"), &[]).await.body;
    assert!(minimal.windows(archive.len()).any(|window| window == archive));
    assert!(!server.dir.path().join("rhcos-full-iso-417-x86_64.iso").exists());
}
