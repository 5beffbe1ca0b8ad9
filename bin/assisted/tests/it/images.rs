//! Discovery images of the whole service: inside its process, and from the image service alone in front of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assisted_auth::Signer;
use assisted_isokit::ignition::Contents;
use assisted_service::TokenResource;
use assisted_testkit::{LiveImage, Server, tied};
use jiff::{Span, Timestamp};

use crate::environment::published;
use crate::service::{PULL_SECRET, Service, text};

/// Asks until the base image, which is read at the start, is there: the head and the body of the answer.
pub fn get(url: &str) -> (String, Vec<u8>) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let (head, body) = get_once(url);
        if !head.starts_with("HTTP/1.1 503") || Instant::now() > until {
            return (head, body);
        }
    }
}

/// Fetches once: the head of the answer, and its body.
pub fn get_once(url: &str) -> (String, Vec<u8>) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let body = answer.split_off(end);
    (text(&answer), body)
}

#[test]
fn an_image_comes_from_the_service_or_from_an_image_service_in_front_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let image = LiveImage::make(dir.path()).unwrap();
    let base = std::fs::read(&image.path).unwrap();
    let list = image.list();
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
        let area =
            base.windows(4096).position(|window| window.iter().all(|byte| *byte == LiveImage::AREA)).unwrap();
        let end = area + LiveImage::AREA_SIZE;
        let contents = Contents::read(&body[area..end]).unwrap();
        let config: serde_json::Value = serde_json::from_slice(&contents.config.unwrap()).unwrap();
        assert!(config.to_string().contains(id), "{config}");
        assert!(body[..area] == base[..area] && body[end..] == base[end..]);
    };
    check(url);
    let unknown = url.replace(id, "00000000-0000-4000-8000-000000000000");
    assert!(get(&unknown).0.starts_with("HTTP/1.1 404"));

    // As the published pod has it start: nothing is changed but ports, the folder and what there is to serve.
    let mut alone = tied(Path::new(env!("CARGO_BIN_EXE_assisted")))
        .arg("image-service")
        .envs(published())
        .env("ASSISTED_SERVICE_HOST", service.url.trim_start_matches("http://"))
        .env("LISTEN_PORT", "0")
        .env("DATA_DIR", dir.path().join("alone"))
        .env("OS_IMAGES", &list)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(alone.stdout.take().unwrap()).read_line(&mut line).unwrap();
    // It listens on all addresses.
    let (_, port) = line.trim().rsplit_once(':').unwrap();
    check(&format!("http://127.0.0.1:{port}/images/{id}?version=420.1&type=full-iso"));
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

/// A key pair for tokens; made for these tests.
pub struct Keys {
    pub private: &'static str,
    pub public: &'static str,
}

pub const ONE: Keys =
    Keys { private: include_str!("../data/one.key.pem"), public: include_str!("../data/one.public.pem") };
pub const OTHER: Keys =
    Keys { private: include_str!("../data/other.key.pem"), public: include_str!("../data/other.public.pem") };

impl Keys {
    /// A token for an infra-env that is valid until some hours from now.
    pub fn token(&self, infra_env: &str, hours: i64) -> String {
        let signer = Signer::new(&self.private.into()).unwrap();
        let resource = TokenResource::InfraEnv(infra_env.parse().unwrap());
        signer.token(resource, Timestamp::now() + Span::new().hours(hours)).unwrap().expose().to_owned()
    }
}

#[test]
fn an_image_is_for_whoever_has_its_token() {
    let dir = tempfile::tempdir().unwrap();
    let list = LiveImage::make(dir.path()).unwrap().list();
    let env = |keys: Option<&Keys>| {
        let mut env = vec![
            ("OS_IMAGES", list.clone()),
            ("SERVICE_BASE_URL", "http://127.0.0.1:8090".to_owned()),
            ("AGENT_DELIVERY", "image".to_owned()),
        ];
        if let Some(keys) = keys {
            env.push(("AUTH_TYPE", "local".to_owned()));
            env.push(("EC_PRIVATE_KEY_PEM", keys.private.to_owned()));
            env.push(("EC_PUBLIC_KEY_PEM", keys.public.to_owned()));
        }
        env
    };
    let start = |keys: &Keys, dir: &Path| {
        let program = Path::new(env!("CARGO_BIN_EXE_assisted"));
        Server::start(program, dir, |command| {
            command.envs(env(Some(keys)));
        })
        .unwrap()
    };
    // Whoever makes infra-envs is somebody else where tokens are needed.
    let env = env(None);
    let open =
        Service::start_with_env(&env.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>());
    let [id, another] = ["one", "another"]
        .map(|name| open.id(&["infra-env", "create", name, "--pull-secret-file", "pull-secret.json"]));
    let data = open.stop();

    let service = start(&ONE, data.path());
    // Whoever makes addresses of images is somebody else, too: here they are made as the service makes them.
    let images = |service: &Server, start: usize| {
        // All starts in a folder share a log.
        let log = service.log();
        let address = log.split("serving images address=").nth(start).unwrap();
        format!("http://{}", address.split_whitespace().next().unwrap())
    };
    let file = "4.20/x86_64/full.iso";
    let (there, token) = (images(&service, 2), ONE.token(&id, 24));
    let forged = format!("{}A", &token[..token.len() - 1]);
    let forged = if forged == token { format!("{}Q", &token[..token.len() - 1]) } else { forged };
    let long = |id: &str, query: &str| format!("{there}/images/{id}?version=4.20&type=full-iso{query}");
    let good = ONE.token(&id, 1);
    for (url, status) in [
        (format!("{there}/byapikey/{token}/{file}"), 200),
        (long(&id, &format!("&api_key={good}")), 200),
        (format!("{there}/images/{id}/pxe-initrd?version=4.20&api_key={good}"), 200),
        (format!("{there}/byapikey/{}/{file}", ONE.token(&another, 1)), 200),
        // What carries no secret is for everybody.
        (format!("{there}/boot-artifacts/kernel?version=4.20"), 200),
        (format!("{there}/byapikey/{forged}/{file}"), 401),
        (format!("{there}/byapikey/{}/{file}", ONE.token(&id, -1)), 401),
        (format!("{there}/byapikey/{}/{file}", OTHER.token(&id, 1)), 401),
        (format!("{there}/bytoken/{good}/{file}"), 401),
        (format!("{there}/byid/{id}/{file}"), 401),
        (long(&id, ""), 401),
        (format!("{there}/images/{id}/pxe-initrd?version=4.20"), 401),
        (long(&id, &format!("&image_token={good}")), 401),
        // One infra-env's token opens no other.
        (long(&another, &format!("&api_key={good}")), 404),
    ] {
        let (head, _) = get(&url);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{status} {url}: {head}\n{}",
            service.log()
        );
    }
    drop(service);

    let rotated = start(&OTHER, data.path());
    let there = images(&rotated, 3);
    for (token, status) in [(OTHER.token(&id, 24), 200), (token, 401)] {
        let (head, _) = get(&format!("{there}/byapikey/{token}/{file}"));
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}\n{}", rotated.log());
    }
}

/// What the service says of the image of an infra-env.
fn image_state(service: &Service, id: &str) -> serde_json::Value {
    let url = format!("{}/api/assisted-install/v2/infra-envs/{id}/downloads/image-state", service.url);
    let (head, body) = get(&url);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}{}", text(&body));
    serde_json::from_slice(&body).unwrap()
}

/// What the service says of it once that is what is waited for, or a minute is over.
fn await_image_state(
    service: &Service,
    id: &str,
    is_awaited: impl Fn(&serde_json::Value) -> bool,
) -> serde_json::Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let told = image_state(service, id);
        if is_awaited(&told) || Instant::now() > until {
            return told;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn whoever_waits_for_an_image_is_told_how_far_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let create = ["infra-env", "create", "i", "--pull-secret-file", "pull-secret.json"];
    let images = LiveImage::make(dir.path()).unwrap().list();
    let service = Service::start_with_env(&[
        ("OS_IMAGES", &images),
        ("SERVICE_BASE_URL", "http://127.0.0.1:8090"),
        ("AGENT_DELIVERY", "image"),
    ]);
    let id = service.id(&create);
    // To ask is to begin: until the base has been read it is waited for, and then nothing is missing.
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let told = image_state(&service, &id);
        if told["state"] == "ready" {
            assert_eq!(told, serde_json::json!({"state": "ready"}));
            break;
        }
        assert_eq!(told["state"], "waiting", "{told}");
        assert!(told["retry_after_seconds"].as_i64().is_some(), "{told}");
        assert!(told["received_bytes"].as_i64().is_some(), "{told}");
        assert!(Instant::now() < until, "{told}");
        std::thread::sleep(Duration::from_millis(200));
    }
    // Where a setting is missing, nobody is told to wait, and everybody is told which.
    let nothing = dir.path().join("nothing").display().to_string();
    let lacking = Service::start_with_env(&[("OS_IMAGES", &images), ("HOST_PROGRAMS_DIR", &nothing)]);
    let id = lacking.id(&create);
    let told = await_image_state(&lacking, &id, |told| told["state"] != "waiting");
    assert_eq!(told["state"], "failed", "{told}");
    let why = "503 Service Unavailable: SERVICE_BASE_URL is not set";
    assert!(told["message"].as_str().unwrap().contains(why), "{told}");

    // What can't be fetched is tried again, and it is told why until then.
    let base = images.replace("file://", "http://127.0.0.1:9");
    let broken = Service::start_with_env(&[
        ("OS_IMAGES", &base),
        ("SERVICE_BASE_URL", "http://127.0.0.1:8090"),
        ("AGENT_DELIVERY", "image"),
    ]);
    let id = broken.id(&create);
    let told = await_image_state(&broken, &id, |told| {
        let says_why = told["message"].as_str().is_some_and(|said| said.contains("can't be fetched"));
        says_why && told["error"].is_string()
    });
    assert_eq!(told["state"], "waiting", "{told}");
    let (why, message) = (told["error"].as_str().unwrap(), told["message"].as_str().unwrap());
    assert!(message.contains(&format!("can't be fetched: {why}")), "{told}");

    // An image service that nobody reaches is no reason to fail, and the address, which opens the image, stands nowhere.
    let away = Service::start_with_env(&[("IMAGE_SERVICE_BASE_URL", "http://127.0.0.1:9")]);
    let told = image_state(&away, &away.id(&create));
    assert_eq!(told["state"], "unknown");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("can't be asked") && !message.contains("/by"), "{message}");
}
