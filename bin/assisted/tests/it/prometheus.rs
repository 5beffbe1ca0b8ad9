//! Dashboards of others, as they ask: a real Prometheus scrapes a service, and answers their queries.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use assisted_testkit::{Answer, Port, Receiver, tied};
use serde_json::Value;

use crate::service::{Service, text};

const LIMIT: Duration = Duration::from_secs(120);

/// What the published dashboard of the replaced service asks for (running §1.4), in the forms in which Grafana sends it.
const PUBLISHED: &[&str] = &[
    "up",
    "up{job=\"assisted\"}",
    "process_cpu_seconds_total",
    "rate(process_cpu_seconds_total{job=\"assisted\"}[10s])",
    "go_threads",
    "sum(go_threads{job=\"assisted\"})",
];

/// What our own dashboard asks for that has no answer where an installation has gone well: a part of the query, for each.
const NOTHING_TO_TELL: &[&str] = &[
    // What had succeeded did not fail afterwards, and no cluster with hosts was given up.
    "host_validation_failed_after_success_before_installation",
    "cluster_validation_failed_after_success_before_installation",
    "host_validation_is_in_failed_status_on_cluster_deletion",
    // No request failed here.
    "code=~\"5..\"",
    // A simulation needs no installer program.
    "release_cache",
    // No message was lost.
    "assisted_outbox_dropped_total",
];

/// A Prometheus that scrapes one service every second; it ends with the test.
struct Prometheus {
    process: Child,
    port: Port,
    dir: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Prometheus {
    fn start(service: &Service) -> Self {
        let (dir, port) = (tempfile::tempdir().unwrap(), Port::free().unwrap());
        let address = service.url.strip_prefix("http://").unwrap();
        let config = format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: assisted\n  static_configs: [{{targets: [\"{address}\"]}}]\n"
        );
        let path = dir.path().join("prometheus.yml");
        std::fs::write(&path, config).unwrap();
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let mut command = tied("prometheus".as_ref());
        command.arg(format!("--config.file={}", path.display()));
        command.arg(format!("--storage.tsdb.path={}", dir.path().join("data").display()));
        command.arg(format!("--web.listen-address=127.0.0.1:{}", port.number));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Self { process: command.spawn().expect("Prometheus is missing: run `cargo xtask setup`"), port, dir }
    }

    /// The series that a query gives; none while it does not answer yet.
    fn query(&self, query: &str) -> Vec<Value> {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port.number)) else { return Vec::new() };
        let body = format!("query={}", encoded(query));
        write!(
            stream,
            "POST /api/v1/query HTTP/1.0\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = text(&answer);
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let Ok(told) = serde_json::from_str::<Value>(body) else { return Vec::new() };
        assert_eq!(told["status"], "success", "{query}: {told}");
        told["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    /// The same, once there are some.
    fn series(&self, query: &str) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let found = self.query(query);
            if !found.is_empty() {
                return found;
            }
            let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < LIMIT, "nothing for {query}: {log}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A text as part of a form.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

/// The queries of our own dashboard, in the form in which Grafana sends them.
fn own_queries() -> Vec<String> {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../../deploy/monitoring/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let sent = |target: &Value| {
        let query = target["expr"].as_str().unwrap().replace("$job", "assisted");
        query.replace("$__rate_interval", "10s").replace("$__range", "5m")
    };
    targets.map(sent).collect()
}

#[test]
fn queries_of_dashboards_are_answered() {
    let receiver = Receiver::start(Answer::Status(200)).unwrap();
    let service = Service::start_with_env(&[
        ("GENERATOR", "simulation"),
        ("ENABLE_IMAGE_SERVICE", "false"),
        ("EVENTS_WEBHOOK_URL", &receiver.url),
        ("EVENTS_WEBHOOK_SECRET", "s3cr3t"),
    ]);
    let (demo, _) = service.cluster("demo");
    let prometheus = Prometheus::start(&service);
    let value = |series: &Value| series["value"][1].as_str().unwrap().parse::<f64>().unwrap();
    for query in PUBLISHED {
        let series = prometheus.series(query);
        assert_eq!(series.len(), 1, "{query}: {series:?}");
        assert!(value(&series[0]) >= 0.0, "{query}: {series:?}");
    }
    assert!(value(&prometheus.series("up")[0]) > 0.5 && value(&prometheus.series("go_threads")[0]) >= 2.0);
    let created = prometheus.series("service_assisted_installer_cluster_creations");
    assert!((value(&created[0]) - 1.0).abs() < f64::EPSILON, "{created:?}");

    // Our own dashboard: one cluster is installed, and one that can't be is given up.
    let done = service.simulation(&["--topology", "sno", "--speed", "600"]).output().unwrap();
    assert!(done.status.success(), "{}\n{}", text(&done.stderr), service.log());
    let began = Instant::now();
    while !service.json(&["cluster", "show", &demo])["validations_info"]
        .as_str()
        .is_some_and(|judged| judged.contains("failure"))
    {
        assert!(began.elapsed() < LIMIT, "it was not judged: {}", service.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    let deleted = service.cli(&["cluster", "delete", &demo]);
    assert!(deleted.status.success(), "{}\n{}", text(&deleted.stderr), service.log());
    let own = own_queries();
    assert!(own.len() > 20, "{own:?}");
    for part in NOTHING_TO_TELL {
        let of_part = own.iter().find(|query| query.contains(part));
        // Prometheus takes it all the same.
        prometheus.query(of_part.unwrap_or_else(|| panic!("nobody asks for {part}")));
    }
    let has_answer = |query: &&String| !NOTHING_TO_TELL.iter().any(|part| query.contains(part));
    for query in own.iter().filter(has_answer) {
        prometheus.series(query);
    }
}
