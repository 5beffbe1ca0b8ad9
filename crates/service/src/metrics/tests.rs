//! Whether all that dashboards ask for is there: the reference's table, and the dashboard and the alerts of this project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assisted_store::{OutboxState, Sink};
use assisted_wire::id::InfraEnvId;
use jiff::Timestamp;
use serde_json::Value;

use super::*;

/// Labels of each metric; without the suffixes of histograms.
type Known = BTreeMap<String, BTreeSet<String>>;

/// Measures of a service to which everything has happened.
async fn all() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let metrics = Metrics::new().unwrap();
    metrics.watch_folder(dir.path().to_owned()).unwrap();
    metrics.watch_driver(Arc::new(Status::new("due")));
    let cluster = ClusterId::random();
    let failed = |of, when| Measured::ValidationFailed { of, id: "connected".to_owned(), when };
    let what = [
        Measured::ClusterCreated,
        Measured::InstallationStarted,
        Measured::InstallationEnded { result: "installed", last_state: "finalizing", seconds: 2400.0 },
        Measured::StageEnded(assisted_core::model::measurement::StageEnded {
            phase: "Rebooting",
            result: "Done",
            seconds: 61.0,
            vendor: String::new(),
            product: String::new(),
            disk_type: "SSD",
            role: "master",
        }),
        Measured::HostEnded(HostEnded {
            result: "Done",
            role: "master",
            cores: 8,
            memory_bytes: 32 << 30,
            disks: vec![("SSD", 120 << 30)],
            nics: vec![10_000],
        }),
        Measured::DiskSynced { milliseconds: 4.0 },
        Measured::ImagePulled { image: "quay.io/a".to_owned(), result: "success", rate: 12.5 },
        failed(Subject::Host, FailedWhen::Deregistered),
        failed(Subject::Host, FailedWhen::AfterSuccess),
        failed(Subject::Cluster, FailedWhen::Deregistered),
        failed(Subject::Cluster, FailedWhen::AfterSuccess),
        Measured::ProgramUsed(ProgramUsed {
            release: "quay.io/release".to_owned(),
            version: "4.22.1".to_owned(),
            cached: true,
            evicted: Some(true),
            started_at: Timestamp::now(),
            ended_at: Timestamp::now(),
        }),
        Measured::ImageBuildBegun { pool: "master", location: "bootstrap" },
        Measured::ImageBuildEnded(assisted_core::model::measurement::ImageBuildEnded {
            pool: "master",
            location: "bootstrap",
            result: "failed",
            seconds: 600.0,
            code: Some("build-user"),
            bytes: Some(1 << 30),
        }),
    ];
    metrics.record(&what.map(|what| Measurement::of_cluster(cluster, what)));
    let outbox = metrics.outbox();
    outbox.measure(Sink::Kafka, &OutboxState::default(), Timestamp::now());
    outbox.sent(Sink::Kafka, 1);
    outbox.failed(Sink::Kafka);
    outbox.dropped(Sink::Kafka, 1);
    metrics.begin_pass();
    metrics.record_cluster_pass(cluster, Duration::from_millis(150), 3);
    metrics.end_pass();
    metrics.set_cluster_aside(cluster);
    metrics.scope_check(TokenResource::InfraEnv(InfraEnvId::random()), ScopeOf::Path, true);
    let mut request = metrics.request("/v2/clusters", "GET");
    (request.code, request.sent) = (200, 2);
    drop(request);
    (dir, String::from_utf8(metrics.text().await.unwrap()).unwrap())
}

/// The names and labels in a page of metrics.
fn series_of(text: &str) -> Known {
    let mut known = Known::new();
    let mut family = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap().to_owned();
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let inner = line
                .split_once('{')
                .and_then(|(_, rest)| rest.rsplit_once('}'))
                .map_or("", |(inner, _)| inner);
            let labels = inner.split("\",").filter_map(|pair| Some(pair.split_once('=')?.0.to_owned()));
            let labels: BTreeSet<String> = labels.filter(|label| label != "le").collect();
            known.entry(family.clone()).or_default().extend(labels.clone());
            known.entry(name.to_owned()).or_default().extend(labels);
        }
    }
    known
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// The texts in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_metrics_of_the_reference() {
    let (_dir, text) = all().await;
    let known = series_of(&text);
    let reference = read("docs/reference/service-api.md");
    let section = reference.split("### 17.2").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut count = 0;
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let labels = quoted(cells[3].split(" (").next().unwrap());
        let labels: BTreeSet<String> = if cells[3].starts_with("`resource_type`") {
            ["resource_type", "scope", "result"].map(str::to_owned).into()
        } else {
            labels.into_iter().collect()
        };
        for name in quoted(cells[1]) {
            let name = format!("{}{name}", families::PREFIX);
            assert_eq!(known.get(&name), Some(&labels), "{name}");
            let kind = cells[2];
            assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{name} is no {kind}");
            count += 1;
        }
    }
    // The reference counts the two pairs of validations, of cycles, of looks and so on each by itself.
    assert!(count >= 26, "{count}");
    for (name, labels) in [
        ("assisted_installer_directory_usage_bytes", &["directory"][..]),
        ("assisted_installer_fs_free_bytes", &["directory"]),
        ("http_request_duration_seconds", &["service", "handler", "method", "code"]),
        ("http_response_size_bytes", &["service", "handler", "method", "code"]),
        ("http_requests_inflight", &["service", "handler", "method"]),
        ("process_cpu_seconds_total", &[]),
        ("process_resident_memory_bytes", &[]),
        ("process_open_fds", &[]),
        ("process_max_fds", &[]),
        ("process_start_time_seconds", &[]),
        ("process_virtual_memory_bytes", &[]),
        ("go_threads", &[]),
        ("assisted_ocl_build_duration_seconds", &["pool", "location", "result"]),
        ("assisted_ocl_build_attempts_total", &[]),
        ("assisted_ocl_failures_total", &["code"]),
        ("assisted_ocl_image_bytes", &["pool"]),
    ] {
        let labels: BTreeSet<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        assert_eq!(known.get(name), Some(&labels), "{name}");
    }
    assert!(
        text.contains(r#"{handler="/v2/clusters",method="GET",service="assisted-installer"} 0"#),
        "{text}"
    );
}

#[tokio::test]
async fn the_buckets_of_the_reference() {
    let (_dir, text) = all().await;
    let buckets = |name: &str| {
        let start = format!("{name}_bucket{{");
        let lines = text.lines().filter(|line| line.starts_with(&start));
        let bound = |line: &str| line.rsplit("le=\"").next().unwrap().split('"').next().unwrap().to_owned();
        lines.map(bound).collect::<Vec<_>>().join(" ")
    };
    let looks = "10 100 200 500 1000 10000 30000 +Inf";
    let cycles = "1000 10000 30000 60000 120000 180000 240000 300000 360000 420000 480000 540000 600000 +Inf";
    for (name, expected) in [
        ("cluster_installation_seconds", "1 5 10 30 60 120 300 600 900 1200 1800 +Inf"),
        ("host_installation_phase_seconds", "1 5 10 30 60 120 300 600 900 1200 1800 +Inf"),
        ("cluster_host_cores", "1 2 4 8 16 32 64 128 256 512 +Inf"),
        ("cluster_host_ram_gb", "8 16 32 64 128 256 512 1024 2048 +Inf"),
        ("cluster_host_disk_gb", "250 500 1000 2000 4000 8000 16000 +Inf"),
        ("cluster_host_nic_gb", "1 10 20 40 100 +Inf"),
        ("cluster_host_disk_sync_duration_ms", "1 5 10 15 20 +Inf"),
        ("cluster_image_pull_status", "0.1 0.5 1 5 10 15 20 25 30 35 40 45 50 +Inf"),
        ("monitored_clusters_duration_ms", looks),
        ("monitored_hosts_duration_ms", looks),
        ("monitored_clusters_cycle_duration_ms", cycles),
        ("monitored_hosts_cycle_duration_ms", cycles),
    ] {
        assert_eq!(buckets(&format!("{}{name}", families::PREFIX)), expected, "{name}");
    }
    let operations = "100 200 300 400 500 600 700 800 900 1000 1200 1400 1600 1800 2000 2400 2800 3200 3600 4000 5000 +Inf";
    let name = format!("{}operation_duration_miliseconds", families::PREFIX);
    assert_eq!(buckets(&name), format!("{operations} {operations}"));
    let durations = "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf";
    assert_eq!(buckets("http_request_duration_seconds"), durations);
    let sizes = "100 1000 10000 100000 1000000 10000000 100000000 1000000000 +Inf";
    assert_eq!(buckets("http_response_size_bytes"), sizes);
}

#[test]
fn images_of_hostile_hosts_are_not_told_apart() {
    let metrics = Metrics::new().unwrap();
    let cluster = ClusterId::random();
    for number in 0..1000 {
        let what = Measured::ImagePulled { image: format!("i{number}"), result: "failure", rate: 0.0 };
        metrics.record(&[Measurement::of_cluster(cluster, what)]);
    }
    let text = String::from_utf8(text(&metrics.0.registry).unwrap()).unwrap();
    let count = text.lines().filter(|line| line.contains("cluster_image_pull_status_count{")).count();
    assert_eq!(count, MOST_IMAGES + 1);
    assert!(text.contains(r#"cluster_image_pull_status_count{imageName="other",result="failure"} 744"#));
}

#[test]
fn a_cluster_that_is_gone_is_set_aside_no_more() {
    let metrics = Metrics::new().unwrap();
    let (gone, other) = (ClusterId::random(), ClusterId::random());
    [gone, other, gone].into_iter().for_each(|id| metrics.set_cluster_aside(id));
    let aside = || {
        let text = String::from_utf8(text(&metrics.0.registry).unwrap()).unwrap();
        let name = format!("{}blacklisted_clusters_current ", families::PREFIX);
        text.lines().find_map(|line| line.strip_prefix(&name)).unwrap().to_owned()
    };
    assert_eq!(aside(), "2");
    metrics.release_cluster(gone);
    assert_eq!((aside().as_str(), metrics.clusters_aside()), ("1", vec![other]));
}

/// What Prometheus adds to each sample.
const ADDED: [&str; 2] = ["job", "instance"];

/// Words of the language that are no metrics.
const WORDS: [&str; 9] = ["by", "without", "and", "or", "unless", "on", "ignoring", "bool", "offset"];

/// The names of metrics in a query, each with the labels by which it is selected, and the labels by which results are grouped.
fn queried(query: &str) -> (Vec<(String, Vec<String>)>, Vec<String>) {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':');
    let (mut names, mut groups): (Vec<(String, Vec<String>)>, Vec<String>) = Default::default();
    let mut rest = query;
    while let Some(letter) = rest.chars().next() {
        if letter == '"' {
            rest = rest[1..].split_once('"').unwrap().1;
        } else if letter == '[' {
            rest = rest.split_once(']').unwrap().1;
        } else if letter == '{' {
            let mut inner = &rest[1..];
            let (_, labels) = names.last_mut().expect("a selector follows a name");
            while !inner.starts_with('}') {
                let (label, after) = inner.split_once(['=', '!']).unwrap();
                labels.push(label.trim().to_owned());
                inner = after
                    .split_once('"')
                    .unwrap()
                    .1
                    .split_once('"')
                    .unwrap()
                    .1
                    .trim_start_matches([',', ' ']);
            }
            rest = &inner[1..];
        } else if letter.is_ascii_alphabetic() || letter == '_' {
            let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            let called = ["(", "by ", "without "].iter().any(|next| after.trim_start().starts_with(next));
            if called && matches!(word, "by" | "without" | "on" | "ignoring") {
                let (inner, after) = after.split_once('(').unwrap().1.split_once(')').unwrap();
                groups.extend(inner.split(',').map(|label| label.trim().to_owned()));
                rest = after;
            } else if !called && !WORDS.contains(&word) {
                names.push((word.to_owned(), Vec::new()));
            }
        } else if letter.is_ascii_digit() {
            rest = rest.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '.');
        } else {
            rest = &rest[letter.len_utf8()..];
        }
    }
    (names, groups)
}

fn check(known: &Known, place: &str, query: &str) {
    let (names, groups) = queried(query);
    assert!(!names.is_empty(), "{place} asks for nothing: {query}");
    let (made, mut all): (BTreeSet<String>, BTreeSet<&str>) = (BTreeSet::new(), ["le"].into());
    for (name, labels) in &names {
        // Prometheus makes it.
        let there = if name == "up" { Some(&made) } else { known.get(name) };
        let there =
            there.unwrap_or_else(|| panic!("{place} asks for {name}, which is not measured: {query}"));
        all.extend(there.iter().map(String::as_str).chain(ADDED));
        for label in labels {
            assert!(
                there.contains(label) || ADDED.contains(&label.as_str()),
                "{place}: {name} has no {label}"
            );
        }
    }
    for group in &groups {
        assert!(all.contains(group.as_str()), "{place} groups by {group}, which nothing has: {query}");
    }
    let balance = |open, close| query.matches(open).count() == query.matches(close).count();
    assert!(balance('(', ')') && balance('{', '}') && balance('[', ']'), "{query}");
}

#[tokio::test]
async fn the_dashboard_and_the_alerts_ask_for_what_is_measured() {
    let (_dir, text) = all().await;
    let known = series_of(&text);
    let dashboard: Value = serde_json::from_str(&read("deploy/monitoring/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut queries = 0;
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            check(&known, panel["title"].as_str().unwrap(), target["expr"].as_str().unwrap());
            queries += 1;
        }
    }
    let rules: Value = serde_yaml_ng::from_str(&read("deploy/monitoring/rules.yaml")).unwrap();
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        let name = rule["alert"].as_str().unwrap();
        check(&known, name, rule["expr"].as_str().unwrap());
        assert!(
            rule["annotations"]["summary"].is_string() && rule["labels"]["severity"].is_string(),
            "{name}"
        );
        queries += 1;
    }
    assert!(queries > 30, "{queries}");
    // What published dashboards ask for.
    for query in ["up", "rate(process_cpu_seconds_total[5m])", "go_threads"] {
        check(&known, "a published dashboard", query);
    }
}

/// Prometheus' own checker of rules; what it says of those it refuses.
fn promtool(arguments: &[&str], dir: &Path) -> Result<(), String> {
    let program = std::process::Command::new("promtool").args(arguments).current_dir(dir).output();
    let output = program.expect("promtool is missing: run `cargo xtask setup`");
    let told = [output.stdout, output.stderr].concat();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&told).into_owned()) }
}

#[test]
fn alerts_call_when_they_must_and_not_when_they_must_not() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/monitoring");
    promtool(&["check", "rules", "rules.yaml"], &dir).unwrap();
    promtool(&["test", "rules", "rules.test.yaml"], &dir).unwrap();
    let rules: Value = serde_yaml_ng::from_str(&read("deploy/monitoring/rules.yaml")).unwrap();
    let cases: Value = serde_yaml_ng::from_str(&read("deploy/monitoring/rules.test.yaml")).unwrap();
    let cases = || {
        cases["tests"].as_array().unwrap().iter().flat_map(|case| case["alert_rule_test"].as_array().unwrap())
    };
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        let of_rule = || cases().filter(|case| case["alertname"] == rule["alert"]);
        let calls = |case: &Value| !case["exp_alerts"].as_array().unwrap().is_empty();
        assert!(of_rule().any(calls), "nothing shows that {} calls", rule["alert"]);
        assert!(of_rule().any(|case| !calls(case)), "nothing shows that {} is quiet", rule["alert"]);
    }
    // The checker checks.
    let wrong = tempfile::tempdir().unwrap();
    let expected = read("deploy/monitoring/rules.test.yaml").replace("1x10 0x60", "1x70");
    std::fs::write(wrong.path().join("rules.yaml"), read("deploy/monitoring/rules.yaml")).unwrap();
    std::fs::write(wrong.path().join("rules.test.yaml"), expected).unwrap();
    let told = promtool(&["test", "rules", "rules.test.yaml"], wrong.path()).unwrap_err();
    assert!(told.contains("AssistedServiceDown"), "{told}");
}

#[test]
fn prometheus_reads_the_queries_of_the_dashboard() {
    let dashboard: Value = serde_json::from_str(&read("deploy/monitoring/dashboard.json")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let check = |queries: &[String]| {
        let rules: Vec<_> = queries
            .iter()
            .enumerate()
            .map(|(n, query)| serde_json::json!({"record": format!("panel:{n}"), "expr": query}))
            .collect();
        let rules = serde_json::json!({"groups": [{"name": "dashboard", "rules": rules}]});
        std::fs::write(dir.path().join("queries.yaml"), rules.to_string()).unwrap();
        promtool(&["check", "rules", "queries.yaml"], dir.path())
    };
    let targets =
        dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let plain =
        |query: &str| query.replace("$__rate_interval", "5m").replace("$__range", "6h").replace("$job", ".+");
    let queries: Vec<_> = targets.map(|target| plain(target["expr"].as_str().unwrap())).collect();
    assert!(queries.len() > 25, "{}", queries.len());
    check(&queries).unwrap();
    check(&["sum by (a (x)".to_owned()]).unwrap_err();
}

#[test]
fn queries_are_read() {
    let query = r#"sum by (le, a) (rate(x_bucket{b="}", c!~"d"}[5m])) / 2.5e3 > bool y offset 5m"#;
    let (names, groups) = queried(query);
    let name = |name: &str, labels: &[&str]| {
        (name.to_owned(), labels.iter().map(|label| (*label).to_owned()).collect())
    };
    assert_eq!(names, [name("x_bucket", &["b", "c"]), name("y", &[])]);
    assert_eq!(groups, ["le", "a"]);
}
