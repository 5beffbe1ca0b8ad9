//! `assisted-lab up --hub`: a whole installation that nobody orders. Objects of a hub describe it, BareMetalHosts included, and the lab is
//! their metal3; etcd, API servers, and what the machines run are real.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assisted_testkit::{built, tied};
use serde_json::Value;

use crate::support::{console, has_node, output, text};

/// Longer than the lab's own limit, which says more.
const LIMIT: Duration = Duration::from_secs(22 * 60);
const NAMES: [&str; 4] = ["master-0", "master-1", "master-2", "worker-0"];

/// Objects of a kind that the lab has shown as JSON in a file.
pub fn objects(dir: &Path, kind: &str) -> Vec<Value> {
    let path = dir.join("hub").join(format!("{kind}.json"));
    let list: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    list["items"].as_array().unwrap_or_else(|| panic!("{list}")).clone()
}

/// Status of a condition of an object.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.find(|condition| condition["type"] == kind);
    found.and_then(|condition| condition["status"].as_str()).unwrap_or_else(|| panic!("{kind}: {object}"))
}

#[test]
fn manifests_alone_install_a_cluster_on_machines_of_bare_metal_hosts() {
    let dir = tempfile::tempdir().unwrap();
    let mut command: Command = tied(&built("assisted-lab").unwrap());
    command.args(["up", "--hub", "--namespaces", "--topology", "compact", "--workers", "1", "--once"]);
    command.args(["--limit", "20", "--dir", text(dir.path())]);
    let up = output(&mut command, LIMIT);
    let told = String::from_utf8_lossy(&up.stdout);
    let everything = || {
        let consoles: String = NAMES.iter().map(|name| console(&dir.path().join(name))).collect();
        format!("{}\n{consoles}\n{told}", String::from_utf8_lossy(&up.stderr))
    };
    assert!(up.status.success(), "{}", everything());
    for name in NAMES {
        assert!(has_node(&told, name), "no {name} that is ready:\n{}", everything());
    }
    // Nobody gave the service an order.
    assert!(!told.contains("$ assisted "), "{told}");

    let installs = objects(dir.path(), "agentclusterinstalls");
    let [install] = &installs[..] else { panic!("{installs:?}") };
    for (kind, expected) in
        [("SpecSynced", "True"), ("Completed", "True"), ("Failed", "False"), ("Stopped", "True")]
    {
        assert_eq!(condition(install, kind), expected, "{kind}");
    }
    let state = install["status"]["debugInfo"]["state"].as_str().unwrap();
    // It takes in further hosts as soon as it is installed.
    assert!(matches!(state, "installed" | "adding-hosts"), "{install}");

    // Each machine has become the Agent that its object asked for, and metal3 keeps its hands off.
    let (agents, machines) = (objects(dir.path(), "agents"), objects(dir.path(), "baremetalhosts"));
    assert_eq!((agents.len(), machines.len()), (NAMES.len(), NAMES.len()));
    let [infra_env] = &objects(dir.path(), "infraenvs")[..] else { panic!("one InfraEnv is asked for") };
    for name in NAMES {
        let agent = agents.iter().find(|agent| agent["spec"]["hostname"] == name).unwrap();
        assert_eq!(agent["spec"]["approved"], true, "{agent}");
        assert!(name.starts_with(agent["spec"]["role"].as_str().unwrap()), "{agent}");
        for kind in ["SpecSynced", "Bound", "Installed"] {
            assert_eq!(condition(agent, kind), "True", "{kind} of {name}");
        }
        let machine = machines.iter().find(|machine| machine["metadata"]["name"] == name).unwrap();
        assert_eq!(machine["spec"]["image"]["url"], infra_env["status"]["isoDownloadURL"], "{machine}");
        assert_eq!(machine["status"]["provisioning"]["image"]["url"], machine["spec"]["image"]["url"]);
        let annotations = &machine["metadata"]["annotations"];
        assert!(annotations["baremetalhost.metal3.io/detached"].is_string(), "{machine}");
        assert!(annotations["inspect.metal3.io/hardwaredetails"].is_string(), "{machine}");
    }
}
