//! Discovery images of the whole service: inside its process, and from the image service alone in front of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assisted_isokit::ignition::Contents;
use assisted_testkit::tied;

use crate::service::{PULL_SECRET, Service, text};

const AREA: u8 = 0xee;
const AREA_SIZE: usize = 256 << 10;

/// A live image whose ignition area is easily found.
fn base(dir: &Path) -> PathBuf {
    let tree = dir.join("tree");
    for (path, content) in [
        ("images/pxeboot/vmlinuz", vec![1; 4096]),
        ("images/pxeboot/initrd.img", vec![2; 10_000]),
        ("images/pxeboot/rootfs.img", vec![3; 1 << 20]),
        ("images/ignition.img", vec![AREA; AREA_SIZE]),
        ("coreos/igninfo.json", br#"{"file": "images/ignition.img"}"#.to_vec()),
    ] {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let path = dir.join("base.iso");
    let made = Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet", "-V", "rhcos-test", "-R", "-o"])
        .args([&path, &tree])
        .output()
        .expect("xorriso is missing: run `cargo xtask setup`");
    assert!(made.status.success(), "{}", text(&made.stderr));
    path
}

/// Asks until the base image, which is read at the start, is there: the head and the body of the answer.
fn get(url: &str) -> (String, Vec<u8>) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        let body = answer.split_off(end);
        let head = text(&answer);
        if !head.starts_with("HTTP/1.1 503") || Instant::now() > until {
            return (head, body);
        }
    }
}

#[test]
fn an_image_comes_from_the_service_or_from_an_image_service_in_front_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = base(dir.path());
    let base = std::fs::read(&path).unwrap();
    let list = format!(
        r#"[{{"openshift_version":"4.20","cpu_architecture":"x86_64","version":"420.1","url":"file://{}"}}]"#,
        path.display()
    );
    // Hosts get their agent from a container image: then nothing has to be built for them.
    let service = Service::start_with_env(&[
        ("OS_IMAGES", &list),
        ("SERVICE_BASE_URL", "http://127.0.0.1:8090"),
        ("AGENT_DELIVERY", "image"),
    ]);
    std::fs::write(service.dir.path().join("pull-secret.json"), PULL_SECRET).unwrap();
    let create = ["infra-env", "create", "images", "--pull-secret-file", "pull-secret.json"];
    let infra_env = service.json(&create);
    let (id, url) = (infra_env["id"].as_str().unwrap(), infra_env["download_url"].as_str().unwrap());
    assert!(url.contains(&format!("/byid/{id}/4.20/x86_64/full.iso")), "{url}");

    let check = |url: &str| {
        let (head, body) = get(url);
        assert!(head.starts_with("HTTP/1.1 200"), "{url}: {head}\n{}", service.log());
        assert_eq!(body.len(), base.len());
        let area = base.windows(4096).position(|window| window.iter().all(|byte| *byte == AREA)).unwrap();
        let contents = Contents::read(&body[area..area + AREA_SIZE]).unwrap();
        let config: serde_json::Value = serde_json::from_slice(&contents.config.unwrap()).unwrap();
        assert!(config.to_string().contains(id), "{config}");
        assert!(body[..area] == base[..area] && body[area + AREA_SIZE..] == base[area + AREA_SIZE..]);
    };
    check(url);
    let unknown = url.replace(id, "00000000-0000-4000-8000-000000000000");
    assert!(get(&unknown).0.starts_with("HTTP/1.1 404"));

    let mut alone = tied(Path::new(env!("CARGO_BIN_EXE_assisted")))
        .args(["image-service", "--listen-address", "127.0.0.1", "--listen-port", "0", "--data-dir"])
        .arg(dir.path().join("alone"))
        .env("ASSISTED_SERVICE_HOST", service.url.trim_start_matches("http://"))
        .env("OS_IMAGES", &list)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(alone.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let there = line.trim().rsplit_once("http://").unwrap().1;
    check(&format!("http://{there}/images/{id}?version=420.1&type=full-iso"));
    alone.kill().unwrap();
    alone.wait().unwrap();
}

#[test]
fn an_image_service_alone_must_know_whom_to_ask() {
    let output = Command::new(env!("CARGO_BIN_EXE_assisted"))
        .args(["image-service", "--data-dir", "/nowhere"])
        .env_remove("ASSISTED_SERVICE_HOST")
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("ASSISTED_SERVICE_HOST is not set"), "{}", text(&output.stderr));
}
