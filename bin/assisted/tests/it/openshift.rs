//! From a release in a registry to installed clusters: everything is real but the machines, and what is in the release.

use std::path::Path;

use assisted_testkit::oci::OPENSHIFT_INSTALL;
use serde_json::Value;

use crate::releases::Releases;
use crate::service::{Service, on_terminal, text};

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn simulated_hosts_are_installed_from_a_release() {
    let releases = Releases::start();
    let service = Service::installing(&releases.conf);
    let simulate = |more: &[&str]| {
        let output = service.simulation(&["--speed", "600"]).args(more).output().unwrap();
        assert!(output.status.success(), "{more:?}: {}\n{}", text(&output.stderr), service.log());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["as_expected"], true, "{more:?}: {report}\n{}", service.log());
        report
    };

    // Nothing is there yet: it is told, and the cluster can be installed again.
    let failed = ["--topology", "sno", "--until", "ready"];
    simulate(&failed);
    let clusters = service.json(&["cluster", "list"]);
    let cluster = &clusters[0];
    let (id, version) = (cluster["id"].as_str().unwrap(), cluster["openshift_version"].as_str().unwrap());
    let render = |to: &Path| service.cli(&["cluster", "render", id, "--to", to.to_str().unwrap()]);
    let to = service.dir.path().join("rendered");
    let mut terminal =
        on_terminal(&["--url", &service.url, "cluster", "render", id, "--to", to.to_str().unwrap()]);
    let refused = terminal.output().unwrap();
    let shown = text(&refused.stdout);
    assert!(!refused.status.success(), "{shown:?}");
    assert!(shown.contains("is generated") && shown.contains("no such image"), "{shown:?}");

    releases.push(version, OPENSHIFT_INSTALL);

    // For review: all files, and nothing has begun.
    let rendered = render(&to);
    let told = text(&rendered.stderr);
    assert!(rendered.status.success() && !told.contains("is generated"), "{told}");
    let master =
        std::fs::read_dir(&to).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert!(master.into_iter().any(|name| name.starts_with("master-")), "{}", text(&rendered.stdout));
    assert!(to.join("openshift/50-masters-chrony-configuration.yaml").is_file());
    assert_eq!(json(&to.join("bootstrap.ign"))["ignition"]["version"], "3.2.0");
    assert_eq!(json(&to.join("install-config.yaml"))["controlPlane"]["replicas"], 1);
    let shown = service.json(&["cluster", "show", id]);
    assert_eq!(shown["status"], "ready", "{shown}");
    let again = render(&to);
    assert!(text(&again.stderr).contains("choose another place with --to"), "{again:?}");

    for topology in ["sno", "compact", "arbiter"] {
        let report = simulate(&["--topology", topology, "--add-workers", "1"]);
        assert_eq!(report["refusals"], serde_json::json!({}), "{report}");
    }
}
