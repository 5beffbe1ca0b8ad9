//! `assisted lab simulate` against a service process.

use crate::service::{Service, text};

#[test]
fn simulated_hosts_become_ready() {
    let service = Service::start();
    let simulate = ["lab", "simulate", "--topology", "compact", "--clusters", "2", "--speed", "600"];
    let report = service.json(&[simulate.as_slice(), &["--until", "ready"]].concat());
    assert_eq!(report["as_expected"], true, "{report}\n{}", service.log());
    assert_eq!(report["clusters"][1]["hosts"]["known"], 3, "{report}");
    assert_eq!(report["refusals"], serde_json::json!({}), "{report}");

    // The same hosts as lines for people, and a fault that ends otherwise than it is told to.
    let wrong = ["--until", "ready", "--fault", "clock", "--expect", "ready", "--clusters", "1"];
    let output = service.cli(&[&simulate[..4], &["--speed", "600"], &wrong].concat());
    let (told, failed) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}{failed}");
    assert!(
        told.contains("insufficient instead of ready") && told.contains("clock on sim-"),
        "{told}{failed}"
    );
}

#[test]
fn what_can_not_be_simulated_is_refused() {
    let service = Service::start();
    for (args, why) in [
        (["--topology", "sno", "--hosts", "2"].as_slice(), "topology sno: 1, not 2"),
        (&["--topology", "triangle"], "sno, compact"),
        (&["--fault", "die@lunch"], "writing-image-to-disk"),
    ] {
        let output = service.cli(&[&["lab", "simulate"], args].concat());
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(why), "{args:?}: {told}");
    }
}
