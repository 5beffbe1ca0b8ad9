//! What earlier releases have left and still say: their databases are served, and what their agents, installers and controllers have asked
//! is answered as it was. Each release keeps what was recorded of it in `tests/data/released-VERSION`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::service::{Service, text};

/// What the hosts and the controller of an installation of a single node have sent, in its order, with the answers' statuses.
const RECORDED: &[(&str, &str)] = &[("0.1", include_str!("../data/released-0.1/requests.jsonl"))];

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

const HOST: &str = "5e1f7c5e-0000-4000-8000-000000000001";
const LIMIT: Duration = Duration::from_secs(120);
const LOGS: &str = "\r\ncontent-disposition: form-data; name=\"upfile\"; filename=\"logs.tar.gz\"\r\ncontent-type: application/octet-stream\r\n\r\nlogs\r\n";

/// The status of an answer, and its body.
fn send(service: &Service, method: &str, path: &str, kind: &str, body: &str) -> (u16, String) {
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} /api/assisted-install{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: {kind}\r\n\
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
    fn send(&self, request: &Value) -> (u16, String) {
        let known = |text: &str| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().to_string();
            text.replace("{cluster}", &self.cluster)
                .replace("{infra_env}", &self.infra_env)
                .replace("{host}", HOST)
                .replace("{now}", &now)
        };
        let path = known(request["path"].as_str().unwrap());
        let (mut kind, mut body) =
            ("application/json", known(&request.get("body").map(Value::to_string).unwrap_or_default()));
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
        let host = format!("/v2/infra-envs/{}/hosts/{HOST}", self.infra_env);
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

#[test]
fn hosts_and_controllers_of_earlier_releases_install_a_cluster() {
    for (release, recorded) in RECORDED {
        let service =
            Service::start_with_env(&[("GENERATOR", "simulation"), ("ENABLE_IMAGE_SERVICE", "false")]);
        let mut replay = Replay { service: &service, cluster: String::new(), infra_env: String::new() };
        for (number, line) in recorded.lines().enumerate() {
            let request: Value = serde_json::from_str(line).unwrap();
            let path = request["path"].as_str().unwrap();
            replay.await_its_moment(path, &request["body"]);
            let (status, body) = replay.send(&request);
            assert_eq!(
                u64::from(status),
                request["status"].as_u64().unwrap(),
                "{release}, {}: {line}\n{body}",
                number + 1
            );
            let id = |body: &str| {
                let (_, rest) = body.split_once("\"id\":\"").unwrap();
                rest.split_once('"').unwrap().0.to_owned()
            };
            match path {
                "/v2/clusters" => replay.cluster = id(&body),
                "/v2/infra-envs" => replay.infra_env = id(&body),
                _ => {}
            }
        }
        replay.until(&format!("/v2/clusters/{}", replay.cluster), "status", &["installed"]);
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
        let service =
            Service::on_with_env(dir, &[("GENERATOR", "simulation"), ("ENABLE_IMAGE_SERVICE", "false")]);
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
