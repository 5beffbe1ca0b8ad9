//! Dashboards of others, as they ask: a real Prometheus scrapes a service, and answers their queries.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use assisted_testkit::{Port, tied};
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

#[test]
fn queries_of_dashboards_are_answered() {
    let service = Service::start_with_env(&[("GENERATOR", "simulation"), ("ENABLE_IMAGE_SERVICE", "false")]);
    service.cluster("demo");
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

    // Our own dashboard: each query is one that Prometheus takes, and those about what is always there have an answer.
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../../deploy/monitoring/dashboard.json")).unwrap();
    let (mut asked, mut answered) = (0, 0);
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"]
                .as_str()
                .unwrap()
                .replace("$job", "assisted")
                .replace("$__rate_interval", "10s")
                .replace("$__range", "1m");
            asked += 1;
            answered += usize::from(!prometheus.query(&query).is_empty());
        }
    }
    assert!(asked > 20 && answered > 5, "{answered} of {asked} have an answer");
}
