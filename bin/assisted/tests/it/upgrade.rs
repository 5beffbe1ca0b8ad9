//! What earlier releases have left and still say: their databases are served, and what their agents, installers and controllers have asked
//! is answered as it was. Each release keeps what was recorded of it in `tests/data/released-VERSION`, a file for each installation: what
//! its hosts, its controller and who installs them have sent, in its order, with the answers' statuses.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assisted_testkit::{Proxy, built};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::service::{Service, text};

/// Where the recordings are.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

/// The folder of this version's.
const OWN: &str = concat!("released-", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Set, it has what this version sends kept.
const RECORD: &str = "RECORD_RELEASE";

/// The path of the API.
const API: &str = "/api/assisted-install";

/// A service that installs simulated hosts, which boot no image.
const SIMULATING: &[(&str, &str)] = &[("GENERATOR", "simulation"), ("ENABLE_IMAGE_SERVICE", "false")];

/// Schema and rows of a version.
macro_rules! schema {
    ($version:literal) => {
        (
            include_str!(concat!("../../../../crates/store/migrations/", $version, ".sql")),
            include_str!(concat!("../../../../crates/store/tests/fixtures/schema-", $version, ".sql")),
        )
    };
}

/// Databases as the versions of the schema have left them, the oldest first: schema and rows of each.
const DATABASES: [(&str, &str); 10] = [
    schema!("1"),
    schema!("2"),
    schema!("3"),
    schema!("4"),
    schema!("5"),
    schema!("6"),
    schema!("7"),
    schema!("8"),
    schema!("9"),
    schema!("10"),
];

const LIMIT: Duration = Duration::from_secs(120);
const LOGS: &str = "\r\ncontent-disposition: form-data; name=\"upfile\"; filename=\"logs.tar.gz\"\r\ncontent-type: application/octet-stream\r\n\r\nlogs\r\n";

/// The status of an answer, and its body.
fn send(service: &Service, method: &str, path: &str, kind: &str, body: &str) -> (u16, String) {
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {API}{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: {kind}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = text(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// An installation that is played back.
struct Replay<'a> {
    service: &'a Service,
    cluster: String,
    infra_env: String,
}

impl Replay<'_> {
    /// A recorded text with what this installation calls it.
    fn known(&self, text: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().to_string();
        let text = text
            .replace("{cluster}", &self.cluster)
            .replace("{infra_env}", &self.infra_env)
            .replace("{now}", &now);
        (1..10).fold(text, |text, number| {
            text.replace(
                &format!("{{host-{number}}}"),
                &format!("5e1f7c5e-0000-4000-8000-00000000000{number}"),
            )
        })
    }

    fn send(&self, request: &Value) -> (u16, String) {
        let path = self.known(request["path"].as_str().unwrap());
        let (mut kind, mut body) =
            ("application/json", self.known(&request.get("body").map(Value::to_string).unwrap_or_default()));
        if path.contains("/logs?") {
            (kind, body) =
                ("multipart/form-data; boundary=of-logs", format!("--of-logs{LOGS}--of-logs--\r\n"));
        }
        send(self.service, request["method"].as_str().unwrap(), &path, kind, &body)
    }

    /// Waits until the service, which decides by itself, has come as far as the hosts saw it then.
    fn until(&self, path: &str, what: &str, wanted: &[&str]) {
        let began = Instant::now();
        loop {
            let (_, body) = send(self.service, "GET", path, "application/json", "");
            // Chunks or not, the object is what is between its braces.
            let object = body.find('{').zip(body.rfind('}')).map(|(first, last)| &body[first..=last]);
            let found: Value = object.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            if found[what].as_str().is_some_and(|status| wanted.contains(&status)) {
                return;
            }
            assert!(began.elapsed() < LIMIT, "no {what} of {wanted:?}: {found}\n{}", self.service.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What has to be true before a request is sent: then its sender had seen it.
    fn await_its_moment(&self, path: &str, body: &Value) {
        let cluster = format!("/v2/clusters/{}", self.cluster);
        // `/v2/infra-envs/ID/hosts/ID` of what is below it.
        let host = self.known(&path.split('/').take(6).collect::<Vec<_>>().join("/"));
        if path.ends_with("/actions/install") {
            self.until(&cluster, "status", &["ready"]);
        } else if body["step_type"] == "installation-disk-speed-check" {
            self.until(&host, "status", &["preparing-for-installation"]);
        } else if body["current_stage"] == "Starting installation" {
            self.until(&host, "status", &["installing"]);
        } else if body["finalizing_stage"].is_string() || path.ends_with("/monitored-operators") {
            self.until(&cluster, "status", &["finalizing"]);
        }
    }
}

/// Plays an installation back to a service of this version.
fn play(name: &str, recorded: &str) {
    let service = Service::start_with_env(SIMULATING);
    let mut replay = Replay { service: &service, cluster: String::new(), infra_env: String::new() };
    for (number, line) in recorded.lines().enumerate() {
        let request: Value = serde_json::from_str(line).unwrap();
        let path = request["path"].as_str().unwrap();
        replay.await_its_moment(path, &request["body"]);
        let (status, body) = replay.send(&request);
        assert_eq!(
            u64::from(status),
            request["status"].as_u64().unwrap(),
            "{name}, {}: {line}\n{body}",
            number + 1
        );
        let id = |body: &str| {
            let (_, rest) = body.split_once("\"id\":\"").unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        };
        match (request["method"].as_str(), path) {
            (Some("POST"), "/v2/clusters") => replay.cluster = id(&body),
            (Some("POST"), "/v2/infra-envs") => replay.infra_env = id(&body),
            _ => {}
        }
    }
    replay.until(&format!("/v2/clusters/{}", replay.cluster), "status", &["installed"]);
}

/// The files in a folder, and in the folders of it whose names begin so.
fn files_of(folder: &Path, begin: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_wanted = path.file_name().unwrap().to_string_lossy().starts_with(begin);
        match path.is_dir() {
            true if is_wanted => files.extend(files_of(&path, "")),
            false if is_wanted => files.push(path),
            _ => {}
        }
    }
    files.sort();
    files
}

#[test]
fn hosts_and_controllers_of_earlier_releases_install_a_cluster() {
    let recorded = files_of(Path::new(DATA), "released-");
    let own = Path::new(DATA).join(OWN);
    assert!(
        recorded.iter().any(|file| file.starts_with(&own)),
        "nothing was recorded of this version: {RECORD}=1 cargo xtask test -p assisted everything_that_hosts_send"
    );
    for file in recorded {
        play(&file.display().to_string(), &fs::read_to_string(&file).unwrap());
    }
}

/// Installs a cluster of simulated hosts, and records what was sent.
fn record(topology: &str) -> String {
    let service = Service::start_with_env(SIMULATING);
    let address = service.url.strip_prefix("http://").unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let proxy = runtime.block_on(Proxy::start(address));
    let url = format!("http://{}", proxy.name());
    // Over one connection each request is answered before the next is sent.
    let hosts = Command::new(built("assisted-lab").unwrap())
        .args(["--url", &url, "-o", "json", "simulate", "--topology", topology])
        .args(["--connections", "1", "--speed", "600"])
        .output()
        .unwrap();
    assert!(hosts.status.success(), "{}\n{}", text(&hosts.stderr), service.log());

    let seen = proxy.seen(API);
    // What hosts are chosen for goes by their order, which has to be the same when it is played back.
    let mut ids = BTreeSet::new();
    for seen in &seen {
        let parts: Vec<_> = seen.path.split(['/', '?']).collect();
        for pair in parts.windows(2).filter(|pair| Uuid::try_parse(pair[1]).is_ok()) {
            ids.insert((pair[0], pair[1]));
        }
    }
    let mut hosts = 0;
    let mut names = Vec::new();
    for (kind, id) in ids {
        match kind {
            "clusters" => names.push((id, "{cluster}".to_owned())),
            "infra-envs" => names.push((id, "{infra_env}".to_owned())),
            "hosts" => {
                hosts += 1;
                names.push((id, format!("{{host-{hosts}}}")));
            }
            _ => {}
        }
    }
    let mut lines: Vec<String> = Vec::new();
    // What was refused came too early.
    for seen in seen.iter().filter(|seen| (200..300).contains(&seen.status)) {
        let path = seen.path.strip_prefix(API).unwrap();
        let path = match path.split_once("?timestamp=") {
            Some((path, _)) => format!("{path}?timestamp={{now}}"),
            None => path.to_owned(),
        };
        let mut request = json!({"method": seen.method, "path": path, "status": seen.status});
        if let Ok(body) = serde_json::from_slice::<Value>(&seen.body) {
            request["body"] = body;
        }
        let line = names.iter().fold(request.to_string(), |line, (id, name)| line.replace(id, name));
        // Who installs looks again and again; hosts ask for what they are told next.
        if seen.method != "GET" || path.contains("/instructions?") || !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// What hosts, the controller and who installs them send in this version is kept for later ones, which have to answer it as it was.
#[test]
fn everything_that_hosts_send_is_recorded_and_can_be_played_back() {
    for topology in ["sno", "compact"] {
        let recorded = record(topology);
        play(topology, &recorded);
        if std::env::var_os(RECORD).is_some() {
            let folder = Path::new(DATA).join(OWN);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(topology).with_extension("jsonl"), recorded).unwrap();
        }
    }
}

/// Lays a database as an earlier release has left it; the texts are those of PostgreSQL.
fn write_script(path: &Path, script: &str) {
    let script = script
        .replace("bigserial primary key", "integer primary key autoincrement")
        .replace("uuid '", "x'")
        .replace("bytea '\\x", "x'");
    rusqlite::Connection::open(path).unwrap().execute_batch(&script).unwrap();
}

#[test]
fn databases_of_every_earlier_schema_are_served() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/store/tests/fixtures");
    assert_eq!(files_of(&kept, "schema-").len(), DATABASES.len());
    for count in 1..=DATABASES.len() {
        let dir = tempfile::tempdir().unwrap();
        let mut script =
            "create table schema_versions (version bigint primary key, applied_at bigint not null);\n"
                .to_owned();
        for (number, (schema, rows)) in DATABASES[..count].iter().enumerate() {
            script.push_str(schema);
            script
                .push_str(&format!(";\ninsert into schema_versions values ({}, 1);\n{rows};\n", number + 1));
        }
        if count >= 7 {
            // The key of the rows was never one: a service would ask for its file.
            script.push_str("delete from seal_keys;\n");
        }
        if count >= 10 {
            script.push_str("delete from service_secrets;\n");
        }
        write_script(&dir.path().join("assisted.db"), &script);
        let service = Service::on_with_env(dir, SIMULATING);
        let clusters = service.json(&["cluster", "list"]);
        let names: Vec<_> = clusters.as_array().unwrap().iter().map(|cluster| &cluster["name"]).collect();
        assert!(names.contains(&&Value::from("released")), "schema {count}: {clusters}\n{}", service.log());
        // Its host polls, as its agent did before the upgrade, and is told to take the agent of this release.
        let host =
            "/v2/infra-envs/22222222-2222-4222-8222-222222222222/hosts/33333333-3333-4333-8333-333333333333";
        let (status, body) = send(&service, "GET", &format!("{host}/instructions"), "application/json", "");
        assert_eq!(status, 200, "schema {count}: {body}\n{}", service.log());
        assert!(body.contains("\"upgrade-agent\""), "{body}");
        drop(service.stop());
    }
}
