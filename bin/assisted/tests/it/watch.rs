//! `assisted cluster watch` and what can be done to hosts, with simulated hosts.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::command_line::other_service;
use crate::service::{Service, follow, on_terminal, text};

/// Has simulated hosts discovered by a cluster, and installed.
fn simulate(service: &Service, cluster: &str, infra_env: &str, more: &[&str]) -> Command {
    let mut command = service.simulation(&["--cluster", cluster, "--infra-env", infra_env]);
    command.args(["--speed", "600"]).args(more).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn objects(lines: impl Iterator<Item = String>) -> Vec<Value> {
    lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

#[test]
fn an_installation_is_watched_to_its_end() {
    let service = Service::simulating();
    let (cluster, infra_env) = service.cluster("demo");
    let watch = ["cluster", "watch", &cluster, "--until", "installed"];
    let (machine, objects_told) = service.follow(&[watch.as_slice(), &["-o", "json"]].concat());
    let (people, lines) = service.follow(&watch);
    assert!(simulate(&service, &cluster, &infra_env, &[]).status().unwrap().success(), "{}", service.log());

    let changes = objects(objects_told);
    assert_eq!(machine.end(), (Some(0), String::new()));
    assert_eq!(changes[0], json!({"reset": {}}));
    let clusters: Vec<_> = changes.iter().filter_map(|change| change.get("cluster")).collect();
    for status in ["preparing-for-installation", "installing", "finalizing", "installed"] {
        assert!(clusters.iter().any(|cluster| cluster["status"] == status), "{status} is missing");
    }
    let hosts: Vec<_> = changes.iter().filter_map(|change| change.get("host")).collect();
    let ids: std::collections::BTreeSet<_> = hosts.iter().map(|host| host["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3);
    for id in ids {
        let of_host = hosts.iter().filter(|host| host["id"] == id);
        let stages: Vec<_> = of_host.filter_map(|host| host["progress"]["current_stage"].as_str()).collect();
        for stage in ["Writing image to disk", "Rebooting", "Done"] {
            assert!(stages.contains(&stage), "{stage} of {id} is missing: {stages:?}");
        }
    }
    let events: Vec<_> = changes.iter().filter_map(|change| change["event"]["name"].as_str()).collect();
    assert!(events.contains(&"cluster_installation_completed"), "{events:?}");

    let lines: Vec<_> = lines.collect();
    assert_eq!(people.end(), (Some(0), String::new()));
    let last = lines.last().unwrap();
    assert!(last.contains("cluster demo: installed 100%"), "{last}");
    assert!(lines.iter().any(|line| line.contains("Writing image to disk (")), "{lines:#?}");

    // What an installation is for.
    let saved = service.cli(&["cluster", "download", "demo", "kubeconfig"]);
    assert_eq!(text(&saved.stdout), "saved kubeconfig\n", "{}", text(&saved.stderr));
    let kubeconfig = std::fs::read_to_string(service.dir.path().join("kubeconfig")).unwrap();
    assert!(kubeconfig.contains("clusters:"), "{kubeconfig}");
    let shown = service.cli(&["cluster", "download", "demo", "kubeconfig", "--to", "-"]);
    assert_eq!(text(&shown.stdout), kubeconfig);
}

#[test]
fn an_installation_is_waited_for() {
    let service = Service::simulating();
    let (cluster, infra_env) = service.cluster("demo");
    let wait = ["cluster", "wait", "demo"];
    let (script, mut read) = service.follow(&wait);
    let (person, shown) = follow(&mut on_terminal(&[["--url", &service.url].as_slice(), &wait].concat()));
    assert!(simulate(&service, &cluster, &infra_env, &[]).status().unwrap().success(), "{}", service.log());

    // A script reads nothing, and is told of each change.
    assert_eq!(read.next(), None);
    let (code, told) = script.end();
    assert_eq!(code, Some(0), "{told}");
    for status in ["preparing-for-installation", "installing", "finalizing", "installed"] {
        assert!(told.contains(&format!(" demo: {status}: ")), "{status} is missing: {told}");
    }
    assert!(!told.contains('█') && !told.contains('░'), "{told}");

    // On a terminal there is a bar besides, which fills.
    let shown = shown.collect::<Vec<_>>().join("\n");
    assert_eq!(person.end(), (Some(0), String::new()), "{shown:?}");
    assert!(shown.contains(" demo: installed: "), "{shown:?}");
    assert!(shown.contains('█') && shown.contains('░') && shown.contains("   0 % "), "{shown:?}");
    let further = (1..100).any(|percent| shown.contains(&format!(" {percent:>3} % ")));
    assert!(further, "{shown:?}");
}

#[test]
fn what_can_not_be_reached_any_more_is_a_failure() {
    let service = Service::start();
    let (cluster, _) = service.cluster("demo");
    let (watching, lines) =
        service.follow(&["cluster", "watch", &cluster, "--until", "installed", "-o", "json"]);
    let mut lines = lines.skip_while(|line| !line.contains(r#"{"cluster""#));
    assert!(lines.next().is_some());
    assert!(service.cli(&["cluster", "delete", "demo"]).status.success());
    lines.for_each(drop);
    let (code, told) = watching.end();
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("was deleted instead of being installed"), "{told}");
}

#[test]
fn a_service_without_a_live_view_is_looked_at_again_and_again() {
    let service = Service::start();
    let (id, _) = service.cluster("demo");
    let mut cluster = service.json(&["cluster", "show", "demo"]);
    cluster["status"] = "ready".into();
    let events =
        r#"[{"name":"e","severity":"info","event_time":"2026-01-01T00:00:00.000Z","message":"hello"}]"#;
    let url = other_service(vec![
        ("/v2/clusters".to_owned(), json!([cluster]).to_string()),
        (format!("/v2/clusters/{id}"), cluster.to_string()),
        (format!("/v2/events?cluster_id={id}&order=descending&limit=20"), events.to_owned()),
    ]);
    let output = Command::new(env!("CARGO_BIN_EXE_assisted"))
        .args(["--url", &url, "cluster", "watch", "demo", "--until", "ready"])
        .output()
        .unwrap();
    let told = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(told.contains("cluster demo: ready"), "{told}");
}

#[test]
fn hosts_are_disabled_and_enabled() {
    let service = Service::start();
    let (cluster, infra_env) = service.cluster("demo");
    assert!(simulate(&service, &cluster, &infra_env, &["--until", "ready"]).status().unwrap().success());
    let listed = text(&service.cli(&["host", "list"]).stdout);
    assert_eq!(listed.matches("auto-assign (master)").count(), 3, "{listed}");
    let host = service.json(&["host", "list"])[0]["id"].as_str().unwrap().to_owned();
    for (action, status) in [("disable", "disabled"), ("enable", "discovering")] {
        assert_eq!(service.json(&["host", action, &host])["status"], status);
    }
    let again = service.cli(&["host", "enable", &host]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stdout));
}
