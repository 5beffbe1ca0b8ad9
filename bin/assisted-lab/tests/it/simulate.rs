//! `assisted-lab simulate` against a service process.

use std::process::Command;

use crate::service::{Service, text};

#[test]
fn simulated_hosts_become_ready() {
    let service = Service::start(&[]);
    let simulate = ["simulate", "--topology", "compact", "--clusters", "2", "--speed", "600"];
    let report = service.json(&[simulate.as_slice(), &["--until", "ready"]].concat());
    assert_eq!(report["as_expected"], true, "{report}\n{}", service.log());
    assert_eq!(report["clusters"][1]["hosts"]["known"], 3, "{report}");
    assert_eq!(report["refusals"], serde_json::json!({}), "{report}");

    // The same hosts as lines for people, and a fault that ends otherwise than it is told to.
    let wrong = ["--until", "ready", "--fault", "clock", "--expect", "ready", "--clusters", "1"];
    let output = service.cli(&[&simulate[..3], &["--speed", "600"], &wrong].concat());
    let (told, failed) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}{failed}");
    assert!(
        told.contains("insufficient instead of ready") && told.contains("clock on sim-"),
        "{told}{failed}"
    );
}

#[test]
fn what_can_not_be_simulated_is_refused() {
    let service = Service::start(&[]);
    for (args, why) in [
        (["--topology", "sno", "--hosts", "2"].as_slice(), "topology sno: 1, not 2"),
        (&["--topology", "triangle"], "sno, compact"),
        (&["--fault", "die@lunch"], "writing-image-to-disk"),
        (&["--fault", "clock:7"], "from 0 to 2"),
        (&["--topology", "sno", "--network", "dhcp-vips"], "dhcp-vips"),
        (&["--clusters", "0"], "must be a cluster"),
        (&["--agent-token", "x"], "--infra-env"),
    ] {
        let output = service.cli(&[&["simulate"], args].concat());
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(why), "{args:?}: {told}");
    }
}

#[test]
fn a_cluster_is_installed_and_gets_a_worker() {
    let service = Service::start(&["--generator", "simulation"]);
    let simulate = ["simulate", "--topology", "sno", "--speed", "1000", "--add-workers", "1"];
    let report = service.json(&simulate);
    assert_eq!(report["as_expected"], true, "{report}\n{}", service.log());
    assert_eq!(report["clusters"][0]["hosts"]["added-to-existing-cluster"], 1, "{report}");
    assert_eq!(report["refusals"], serde_json::json!({}), "{report}");
}

#[test]
fn a_service_without_tls_is_not_waited_for() {
    let service = Service::start(&[]);
    let url = service.url.replace("http://", "https://");
    let mut simulate = Command::new(env!("CARGO_BIN_EXE_assisted-lab"));
    simulate.args(["--url", &url, "simulate", "--openshift-version", "4.20"]);
    let output = simulate.output().unwrap();
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(3) && told.contains("no TLS"), "{told}");
}
