//! The command line against a real service.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use assisted_testkit::AwsServer;

use crate::service::{Service, on_terminal, text};

#[test]
fn a_cluster_lives_and_dies() {
    let service = Service::start();
    let create = [
        "cluster",
        "create",
        "demo",
        "--base-domain",
        "example.com",
        "--pull-secret-file",
        "pull-secret.json",
    ];
    let id = service.id(&create);
    let shown = text(&service.cli(&["cluster", "show", "demo"]).stdout);
    assert!(shown.contains(&id) && shown.contains("example.com"), "{shown}");
    assert_eq!(service.json(&["cluster", "update", "demo", "--name", "other"])["name"], "other");
    let listed = text(&service.cli(&["cluster", "list"]).stdout);
    assert!(listed.starts_with("ID") && listed.contains("other"), "{listed}");
    let yaml = text(&service.cli(&["cluster", "show", &id[..8], "-o", "yaml"]).stdout);
    assert!(yaml.contains("name: other"), "{yaml}");
    assert!(service.cli(&["cluster", "delete", "other"]).status.success());
    assert_eq!(service.json(&["cluster", "list"]), serde_json::json!([]));
    let events = text(&service.cli(&["event", "list"]).stdout);
    assert!(events.contains("WHAT HAPPENED"), "{events}");
}

#[test]
fn work_is_shown_and_what_is_set_aside_is_released() {
    let service = Service::start();
    let shown = text(&service.cli(&["admin", "work"]).stdout);
    assert!(shown.contains("DRIVER") && shown.contains("\ndue ") && shown.contains("\nactions "), "{shown}");
    let work = service.json(&["admin", "work", "--limit", "10"]);
    // Each sweep waits for its time.
    let row = work["rows"].as_array().unwrap().iter().find(|row| row["id"] == "sweep.deregistered").unwrap();
    assert_eq!(row["state"], "waiting");
    let refused = service.cli(&["admin", "release", "sweep.deregistered"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("no work sweep.deregistered is set aside"), "{refused:?}");
}

#[test]
fn operators_are_shown_with_what_they_would_mean() {
    let service = Service::start();
    let listed = text(&service.cli(&["operator", "list"]).stdout);
    assert!(listed.starts_with("NAME") && listed.contains("\nodf "), "{listed}");
    let shown = service.json(&["operator", "show", "odf"]);
    assert_eq!(shown["description"]["dependencies"], serde_json::json!(["lso"]));
    assert!(shown.get("assessment").is_none());
    service.cluster("demo");
    let of_cluster = text(&service.cli(&["operator", "show", "odf", "--cluster", "demo"]).stdout);
    assert!(of_cluster.contains("dedicated worker nodes"), "{of_cluster}");
    assert!(of_cluster.contains("The cluster has no hosts yet."), "{of_cluster}");
    let all = service.json(&["operator", "list", "--cluster", "demo"]);
    let odf = all.as_array().unwrap().iter().find(|operator| operator["name"] == "odf").unwrap();
    assert_eq!((&odf["selected"], &odf["adds"]), (&false.into(), &serde_json::json!(["lso"])));
    let unknown = service.cli(&["operator", "show", "nothing"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("assisted operator list"), "{unknown:?}");
}

#[test]
fn dns_records_of_a_cluster_are_shown() {
    let server = AwsServer::start().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let zone = runtime.block_on(AwsServer::create_zone(&server.url, "example.com")).unwrap();
    let (dir, domains) = (tempfile::tempdir().unwrap(), format!("example.com:{zone}/route53"));
    let credentials = dir.path().join("credentials");
    std::fs::write(&credentials, "[route53]\naws_access_key_id = a\naws_secret_access_key = b\n").unwrap();
    let service = Service::start_with_env(&[
        ("GENERATOR", "simulation"),
        ("BASE_DNS_DOMAINS", &domains),
        ("ROUTE53_ENDPOINT_URL", &server.url),
        ("AWS_SHARED_CREDENTIALS_FILE", credentials.to_str().unwrap()),
    ]);
    let done = service.simulation(&["--topology", "sno", "--speed", "600"]).output().unwrap();
    assert!(done.status.success(), "{}\n{}", text(&done.stderr), service.log());
    let id = service.json(&["cluster", "list"])[0]["id"].as_str().unwrap().to_owned();
    let cluster = service.json(&["cluster", "show", &id]);
    let records = cluster["dns_records"].as_array().unwrap();
    assert_eq!(records.len(), 3, "{records:?}");
    let shown = text(&service.cli(&["cluster", "show", &id]).stdout);
    assert!(shown.lines().any(|line| line.starts_with("DNS RECORD")), "{shown}");
    for record in records {
        let row = ["name", "type", "address"].map(|member| record[member].as_str().unwrap());
        assert!(shown.lines().any(|line| line.split_whitespace().eq(row)), "{record} is not in {shown}");
    }
    // They are those that the server has: of the API, inside and outside, and of all routes.
    let kept = runtime.block_on(AwsServer::zone_records(&server.url, &zone)).unwrap();
    assert_eq!(kept.len(), 3, "{kept:?}");
    let address = records[0]["address"].as_str().unwrap();
    assert!(kept.iter().all(|record| record.ends_with(&format!(" A 60 {address}"))), "{kept:?}");
}

#[test]
fn failures_have_exit_codes_and_remedies() {
    let service = Service::start();
    for (args, code, expected) in [
        (["cluster", "show", "nobody"].as_slice(), 1, "assisted cluster list"),
        (
            &["cluster", "create", "UPPER", "--pull-secret-file", "pull-secret.json"],
            1,
            "Cluster name format is not valid",
        ),
        (
            &["cluster", "create", "UPPER", "--pull-secret-file", "pull-secret.json"],
            1,
            "`assisted explain cluster-name` tells what that means",
        ),
        (&["explain", "cluster-name"], 0, ""),
        (&["explain", "409"], 0, ""),
        (&["explain", "nothing"], 1, "`assisted explain` lists"),
        (&["cluster", "create", "demo", "--pull-secret-file", "missing.json"], 2, "missing.json"),
        (&["cluster", "create", "demo"], 2, "--pull-secret-file"),
        (&["host", "update", "nobody", "--role", "king"], 2, "master"),
    ] {
        let output = service.cli(args);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {told}");
        assert!(told.contains(expected), "{args:?}: {told}");
    }
    for (url, code, expected) in
        [("http://127.0.0.1:1", 3, "check the address"), ("nonsense", 2, "http://HOST:PORT")]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_assisted"))
            .args(["--url", url, "cluster", "list"])
            .output()
            .unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn validations_are_explained_or_at_least_shown() {
    let service = Service::start();
    let create = ["cluster", "create", "demo", "--pull-secret-file", "pull-secret.json"];
    let id = service.id(&create);
    let explained = text(&service.cli(&["cluster", "show", "demo"]).stdout);
    let expected = "dns-domain-defined\n  measured    not set\n  required    set\n  what to do  Set the cluster's base_dns_domain.";
    assert!(explained.contains(expected), "{explained}");
    // Another service, which knows nothing of explanations, and has judged the cluster.
    let mut cluster = service.json(&["cluster", "show", "demo"]);
    cluster["validations_info"] =
        r#"{"network":[{"id":"dns-domain-defined","status":"failure","message":"The base domain is undefined."}]}"#.into();
    let url = other_service(vec![
        ("/v2/clusters".to_owned(), serde_json::json!([cluster]).to_string()),
        (format!("/v2/clusters/{id}"), cluster.to_string()),
    ]);
    let shown = Command::new(env!("CARGO_BIN_EXE_assisted"))
        .args(["--url", &url, "cluster", "show", "demo"])
        .output()
        .unwrap();
    let told = text(&shown.stdout);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    assert!(told.contains("The base domain is undefined.") && !told.contains("  what to do  "), "{told}");
}

/// A service that answers some paths, and 404 for all others.
pub fn other_service(answers: Vec<(String, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let request = lines.next().unwrap_or_default();
            // The head ends with an empty line.
            lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
            let path = request.split_whitespace().nth(1).unwrap_or_default();
            let known = answers.iter().find(|(known, _)| path.ends_with(known.as_str()));
            let (status, body) = match known {
                Some((_, body)) => ("200 OK", body.as_str()),
                None => ("404 Not Found", r#"{"code":404,"message":"path was not found"}"#),
            };
            let length = body.len();
            let head = "content-type: application/json\r\nconnection: close";
            write!(stream, "HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        }
    });
    url
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let service = Service::start();
    for args in [["completion", "bash"].as_slice(), &["docs"], &["cluster", "list"], &["event", "list"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_assisted"))
            .args(["--url", &service.url])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut told = String::new();
        child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert!(child.wait().unwrap().success() && told.is_empty(), "{args:?}: {told}");
    }
}

#[test]
fn watching_outlives_a_change_and_speaks_json() {
    let service = Service::start();
    service.id(&["cluster", "create", "demo", "--pull-secret-file", "pull-secret.json"]);
    let (_following, mut events) = service.follow(&["event", "watch", "-o", "json"]);
    let named = |line: String| serde_json::from_str::<serde_json::Value>(&line).unwrap()["name"].to_string();
    let registered = events.by_ref().map(named).find(|name| name.contains("cluster_registration_succeeded"));
    assert!(registered.is_some());
    service.id(&["infra-env", "create", "late", "--pull-secret-file", "pull-secret.json"]);
    let late = events.map(named).find(|name| name.contains("infra_env_registered"));
    assert!(late.is_some(), "the event after the first look is missing");
}

#[test]
fn a_wait_has_an_end() {
    let service = Service::start();
    service.cluster("demo");
    let late = service.cli(&["cluster", "wait", "demo", "--timeout", "0"]);
    assert_eq!(late.status.code(), Some(1));
    assert!(
        text(&late.stderr).contains("after 0 minutes") || text(&late.stderr).contains("for 0 minutes"),
        "{late:?}"
    );
    let late = service.cli(&["infra-env", "wait", "demo_infra-env", "--timeout", "0"]);
    assert_eq!(late.status.code(), Some(1));
    assert!(text(&late.stderr).contains("0 of 1 hosts"), "{late:?}");
}

#[test]
fn manifests_and_files_of_an_infra_env_come_and_go() {
    let service = Service::start_with_env(&[("SERVICE_BASE_URL", "http://127.0.0.1:8090")]);
    service.cluster("demo");
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    std::fs::write(service.dir.path().join("a.yaml"), manifest).unwrap();
    let added = service.cli(&["cluster", "manifest", "add", "demo", "a.yaml", "--folder", "openshift"]);
    assert_eq!(text(&added.stdout), "added openshift/a.yaml\n", "{added:?}");
    let listed = service.json(&["cluster", "manifest", "list", "demo"]);
    assert_eq!((&listed[0]["file_name"], &listed[0]["folder"]), (&"a.yaml".into(), &"openshift".into()));
    let args = ["cluster", "manifest", "download", "demo", "a.yaml", "--folder", "openshift", "--to", "-"];
    assert_eq!(text(&service.cli(&args).stdout), manifest.trim_end());
    let deleted = service.cli(&["cluster", "manifest", "delete", "demo", "a.yaml", "--folder", "openshift"]);
    assert!(deleted.status.success(), "{deleted:?}");
    assert_eq!(service.json(&["cluster", "manifest", "list", "demo"]), serde_json::json!([]));

    let saved = service.cli(&["infra-env", "download", "demo_infra-env", "discovery.ign"]);
    assert_eq!(text(&saved.stdout), "saved discovery.ign\n", "{saved:?}");
    let ignition = std::fs::read(service.dir.path().join("discovery.ign")).unwrap();
    let ignition: serde_json::Value = serde_json::from_slice(&ignition).unwrap();
    assert!(ignition["ignition"]["version"].is_string(), "{ignition}");
    let info = text(&service.cli(&["admin", "info"]).stdout);
    assert!(info.starts_with("COMPONENT") && info.contains("assisted-installer"), "{info}");
}

#[test]
fn an_install_config_is_laid_over() {
    let service = Service::start();
    service.cluster("demo");
    std::fs::write(service.dir.path().join("overrides.yaml"), "fips: true\n").unwrap();
    let args = ["cluster", "update", "demo", "--install-config-overrides-file", "overrides.yaml"];
    assert_eq!(service.json(&args)["install_config_overrides"], r#"{"fips":true}"#);
}

#[test]
fn colours_are_for_those_who_want_them() {
    let service = Service::start();
    service.cluster("demo");
    let coloured = text(&service.cli(&["cluster", "list", "--color", "always"]).stdout);
    assert!(coloured.contains("\u{1b}[1mID"), "{coloured:?}");
    for args in [["cluster", "list", "--color", "never"].as_slice(), &["cluster", "list"]] {
        assert!(!text(&service.cli(args).stdout).contains('\u{1b}'), "{args:?}");
    }
    let json = service.json(&["cluster", "list", "--color", "always"]);
    assert_eq!(json[0]["name"], "demo");
    // On a terminal nobody has to ask for them, and whoever sets NO_COLOR has none.
    for (value, coloured) in [(None, true), (Some(""), true), (Some("1"), false)] {
        let mut terminal = on_terminal(&["--url", &service.url, "cluster", "list"]);
        terminal.envs(value.map(|value| ("NO_COLOR", value)));
        let shown = text(&terminal.output().unwrap().stdout);
        assert!(shown.contains("demo"), "{shown:?}");
        assert_eq!(shown.contains("\u{1b}["), coloured, "{value:?}: {shown:?}");
    }
}

#[test]
fn it_describes_itself() {
    let run = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_assisted")).args(args).output().unwrap();
    let dir = tempfile::tempdir().unwrap();
    // Each shell reads its script without a word.
    for shell in ["bash", "zsh", "fish"] {
        let (file, script) = (dir.path().join(shell), text(&run(&["completion", shell]).stdout));
        assert!(script.contains("infra-env"), "{shell}");
        std::fs::write(&file, script).unwrap();
        let mut reads = Command::new(shell);
        let read = reads.arg("-n").arg(&file).env("HOME", dir.path()).stdin(Stdio::null()).output();
        let read = read.expect("run `cargo xtask setup`");
        let said = text(&[read.stdout, read.stderr].concat());
        assert!(read.status.success() && said.is_empty(), "{shell}: {said}");
    }
    assert!(run(&["man", dir.path().to_str().unwrap()]).status.success());
    assert!(dir.path().join("assisted-cluster-create.1").exists());
}
