//! `assisted iso …` on images that xorriso made, and against a server that breaks off.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use assisted_isokit::{Archive, Image, ReadAt};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::{Value, json};

use crate::service::{on_terminal, text};

const ID: &str = "0a1b2c3d-0000-4000-8000-000000000005";
const VOLUME_ID: &str = "rhcos-418.94.1";
const CONFIG: &str = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/secret","contents":{"source":"data:,hidden"}}]},
    "systemd":{"units":[{"name":"agent.service","contents":"ExecStart=/agent --url https://s:6000 --infra-env-id 0a1b2c3d"}]}}"#;

/// A discovery image of four megabytes.
fn image(dir: &Path) -> Vec<u8> {
    let tree = dir.join("tree");
    let put = |path: &str, content: &[u8]| {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let mut kernel = vec![1; 4096];
    kernel[0x202..0x206].copy_from_slice(b"HdrS");
    put("images/pxeboot/vmlinuz", &kernel);
    put("images/pxeboot/initrd.img", &[2; 100_000]);
    put("images/pxeboot/rootfs.img", &vec![3; 4 << 20]);
    put("images/ignition.img", &vec![0; 256 << 10]);
    let kargs = "ignition.firstboot";
    let grub =
        format!("\tlinux /images/pxeboot/vmlinuz {kargs}\n{}# COREOS_KARG_EMBED_AREA\n", "#".repeat(1023));
    let description = json!({
        "default": kargs,
        "files": [{"path": "EFI/redhat/grub.cfg", "offset": grub.find(kargs).unwrap()}],
        "size": kargs.len() + 1024,
    });
    put("EFI/redhat/grub.cfg", grub.as_bytes());
    put("coreos/kargs.json", description.to_string().as_bytes());
    let path = dir.join("base.iso");
    let output = Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet", "-V", VOLUME_ID, "-r", "-o"])
        .args([&path, &tree])
        .output()
        .expect("run `cargo xtask setup`");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let archive = Archive::new(CONFIG.as_bytes()).unwrap();
    let layout = Image::open(&path).unwrap().customise(&archive, Some(&["quiet".to_owned()]), None).unwrap();
    let mut content = vec![0; layout.len() as usize];
    layout.read_exact_at(&mut content, 0).unwrap();
    content
}

fn assisted(url: &str, dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assisted"))
        .args(["--url", url])
        .args(args)
        .current_dir(dir)
        .env_remove("HTTP_PROXY")
        .output()
        .unwrap()
}

/// Service and image service in one, with one infra-env.
struct Server {
    url: String,
    served: Arc<Served>,
    // Ends with the test.
    _runtime: tokio::runtime::Runtime,
}

struct Served {
    url: String,
    image: Vec<u8>,
    tag: String,
    /// Bytes after which an answer breaks off; once only.
    breaks: Option<usize>,
    requests: AtomicUsize,
    sent: AtomicU64,
}

fn serve(image: Vec<u8>, tag: &str, breaks: Option<usize>) -> Server {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = Arc::new(Served {
        url: url.clone(),
        image,
        tag: tag.to_owned(),
        breaks,
        requests: AtomicUsize::new(0),
        sent: AtomicU64::new(0),
    });
    let infra_envs = "/api/assisted-install/v2/infra-envs";
    let router = Router::new()
        .route(infra_envs, get(|| async { answer(&json!([infra_env()])) }))
        .route(
            &format!("{infra_envs}/{ID}/downloads/image-url"),
            get(|State(served): State<Arc<Served>>| async move {
                answer(&json!({"url": format!("{}/image.iso", served.url), "expires_at": "0001-01-01T00:00:00.000Z"}))
            }),
        )
        .route("/image.iso", get(send))
        .with_state(Arc::clone(&served));
    runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
    Server { url, served, _runtime: runtime }
}

fn answer(body: &Value) -> impl IntoResponse + use<> {
    ([(header::CONTENT_TYPE, "application/json")], body.to_string())
}

fn infra_env() -> Value {
    json!({
        "kind": "InfraEnv", "id": ID, "href": "", "name": "demo", "type": "full-iso",
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
    })
}

/// The image, or the part of it that is asked for.
async fn send(State(served): State<Arc<Served>>, headers: HeaderMap) -> axum::response::Response {
    let first = served.requests.fetch_add(1, Ordering::SeqCst) == 0;
    let header = |name| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let same = header(header::IF_RANGE).is_none_or(|tag| tag == served.tag);
    let range = header(header::RANGE).filter(|_| same).map(|range| {
        let (start, end) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
        (start.parse::<usize>().unwrap(), end.parse::<usize>().map_or(served.image.len(), |end| end + 1))
    });
    let (status, start, end) = match range {
        Some((start, _)) if start >= served.image.len() => {
            let all = format!("bytes */{}", served.image.len());
            return (StatusCode::RANGE_NOT_SATISFIABLE, [(header::CONTENT_RANGE, all)]).into_response();
        }
        Some((start, end)) => (StatusCode::PARTIAL_CONTENT, start, end.min(served.image.len())),
        None => (StatusCode::OK, 0, served.image.len()),
    };
    let bytes = Bytes::copy_from_slice(&served.image[start..end]);
    let len = bytes.len();
    let body = match served.breaks.filter(|_| first) {
        Some(breaks) => {
            served.sent.fetch_add(breaks as u64, Ordering::SeqCst);
            let pieces = [Ok(bytes.slice(..breaks)), Err(std::io::Error::other("broken"))];
            Body::from_stream(futures::stream::iter(pieces))
        }
        None => {
            served.sent.fetch_add(len as u64, Ordering::SeqCst);
            Body::from(bytes)
        }
    };
    Response::builder()
        .status(status)
        .header(header::CONTENT_LENGTH, len)
        .header(header::CONTENT_RANGE, format!("bytes {start}-{}/{}", end - 1, served.image.len()))
        .header(header::ETAG, &served.tag)
        .body(body)
        .unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let entries =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

#[test]
fn a_file_is_looked_into() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.iso"), image(dir.path())).unwrap();
    let run = |args: &[&str]| assisted("http://127.0.0.1:1", dir.path(), args);
    let output = run(&["iso", "inspect", "a.iso"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for wanted in [
        VOLUME_ID,
        "full ISO",
        "x86_64",
        "https://s:6000",
        "0a1b2c3d",
        "agent.service",
        "/etc/secret",
        "quiet",
    ] {
        assert!(table.contains(wanted), "no {wanted} in {table}");
    }
    assert!(!table.contains("hidden") && !table.contains("problems"), "{table}");
    let output = run(&["iso", "inspect", "a.iso", "--output", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["kargs"]["current"], "ignition.firstboot quiet");
    assert_eq!(json["ignition"]["area"]["length"], 256 << 10);
    let output = run(&["iso", "inspect", "a.iso", "--ignition"]);
    assert_eq!(text(&output.stdout).trim_end(), CONFIG);
    std::fs::write(dir.path().join("b.iso"), "no image").unwrap();
    let output = run(&["iso", "inspect", "b.iso"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not a usable ISO image"), "{}", text(&output.stderr));
}

#[test]
fn of_an_address_only_what_is_needed_is_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(image(dir.path()), "\"one\"", None);
    let address = format!("{}/image.iso", server.url);
    let output = assisted(&server.url, dir.path(), &["iso", "inspect", &address, "-o", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((json["volume_id"].as_str(), json["kind"].as_str()), (Some(VOLUME_ID), Some("full")));
    assert!(
        server.served.sent.load(Ordering::SeqCst) < 2 << 20,
        "{} bytes",
        server.served.sent.load(Ordering::SeqCst)
    );
}

#[test]
fn the_address_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(Vec::new(), "\"one\"", None);
    let output = assisted(&server.url, dir.path(), &["iso", "url", "demo"]);
    assert_eq!(text(&output.stdout).trim_end(), format!("{}/image.iso", server.url));
}

#[test]
fn a_broken_download_goes_on_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path());
    let to = tempfile::tempdir().unwrap();
    let server = serve(image.clone(), "\"one\"", Some(1_000_000));
    let output = assisted(&server.url, to.path(), &["iso", "download", "demo"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let name = format!("{ID}-discovery.iso");
    assert_eq!(names(to.path()), std::slice::from_ref(&name));
    assert!(std::fs::read(to.path().join(name)).unwrap() == image);
    assert_eq!(server.served.requests.load(Ordering::SeqCst), 2);
    // What had arrived may have been less than what was sent before the break, but it was not all fetched again.
    assert!(server.served.sent.load(Ordering::SeqCst) < 2 * image.len() as u64);
}

#[test]
fn a_download_has_a_bar_on_a_terminal_and_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path());
    let to = tempfile::tempdir().unwrap();
    // What waits for a second attempt is drawn for a second.
    let server = serve(image.clone(), "\"one\"", Some(1_000_000));
    let mut terminal = on_terminal(&["--url", &server.url, "iso", "download", "demo", "--to", "a.iso"]);
    let output = terminal.current_dir(to.path()).env_remove("HTTP_PROXY").output().unwrap();
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown:?}");
    let of_all = format!("/{} ", indicatif::HumanBytes(image.len() as u64));
    assert!(shown.matches(&of_all).count() > 1, "{of_all:?} in {shown:?}");
    assert!(shown.contains('█') && shown.contains('░') && shown.contains(" left"), "{shown:?}");
    // It is gone at the end.
    let last = shown.rsplit('\r').find(|line| line.contains("saved a.iso"));
    assert!(last.is_some_and(|line| !line.contains('░')), "{shown:?}");
    assert!(std::fs::read(to.path().join("a.iso")).unwrap() == image);

    let server = serve(image, "\"one\"", Some(1_000_000));
    let output = assisted(&server.url, to.path(), &["iso", "download", "demo", "--to", "b.iso"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

fn parts(dir: &Path) -> [PathBuf; 2] {
    [dir.join("a.iso.part"), dir.join("a.iso.part.of")]
}

#[test]
fn an_interrupted_download_goes_on_when_the_image_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path());
    for (tag, fetched) in [("\"one\"", image.len() - 1_000_000), ("\"two\"", image.len())] {
        let to = tempfile::tempdir().unwrap();
        let [part, note] = parts(to.path());
        // Of another image where the tag is another: nothing of it may stay.
        let left = if tag == "\"one\"" { image[..1_000_000].to_vec() } else { vec![9; 1_000_000] };
        std::fs::write(part, left).unwrap();
        std::fs::write(note, "\"one\"").unwrap();
        let server = serve(image.clone(), tag, None);
        let output = assisted(&server.url, to.path(), &["iso", "download", "demo", "--to", "a.iso"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(names(to.path()), ["a.iso"]);
        assert!(std::fs::read(to.path().join("a.iso")).unwrap() == image);
        assert_eq!(server.served.sent.load(Ordering::SeqCst), fetched as u64);
    }
    // All of it was there: only its name was missing.
    let to = tempfile::tempdir().unwrap();
    let [part, note] = parts(to.path());
    std::fs::write(part, &image).unwrap();
    std::fs::write(note, "\"one\"").unwrap();
    let server = serve(image, "\"one\"", None);
    let output = assisted(&server.url, to.path(), &["iso", "download", "demo", "--to", "a.iso"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!((names(to.path()), server.served.sent.load(Ordering::SeqCst)), (vec!["a.iso".to_owned()], 0));
}

#[test]
fn what_is_no_image_is_not_saved() {
    let to = tempfile::tempdir().unwrap();
    let server = serve(b"<html>maintenance</html>".to_vec(), "\"one\"", None);
    let output = assisted(&server.url, to.path(), &["iso", "download", "demo", "--to", "a.iso"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("is no image"), "{}", text(&output.stderr));
    assert!(!to.path().join("a.iso").exists());
}
