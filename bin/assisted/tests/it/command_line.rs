//! The command line against a real service.

use std::process::Command;

use crate::service::{Service, text};

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
fn failures_have_exit_codes_and_remedies() {
    let service = Service::start();
    for (args, code, expected) in [
        (["cluster", "show", "nobody"].as_slice(), 1, "assisted cluster list"),
        (
            &["cluster", "create", "UPPER", "--pull-secret-file", "pull-secret.json"],
            1,
            "Cluster name format is not valid",
        ),
        (&["cluster", "create", "demo", "--pull-secret-file", "missing.json"], 2, "missing.json"),
        (&["cluster", "create", "demo"], 2, "--pull-secret-file"),
        (&["host", "update", "nobody", "--role", "king"], 2, "master"),
    ] {
        let output = service.cli(args);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {told}");
        assert!(told.contains(expected), "{args:?}: {told}");
    }
    let gone = Command::new(env!("CARGO_BIN_EXE_assisted"))
        .args(["--url", "http://127.0.0.1:1", "cluster", "list"])
        .output()
        .unwrap();
    assert_eq!(gone.status.code(), Some(3), "{}", text(&gone.stderr));
    assert!(text(&gone.stderr).contains("check the address"), "{}", text(&gone.stderr));
}

#[test]
fn it_describes_itself() {
    let run = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_assisted")).args(args).output().unwrap();
    assert!(text(&run(&["completion", "bash"]).stdout).contains("infra-env"));
    let dir = tempfile::tempdir().unwrap();
    assert!(run(&["man", dir.path().to_str().unwrap()]).status.success());
    assert!(dir.path().join("assisted-cluster-create.1").exists());
}
