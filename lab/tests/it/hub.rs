//! `assisted-lab up --hub`: a whole installation that nobody orders. Objects of a hub describe it, BareMetalHosts included, and the lab is
//! their metal3; etcd, API servers, and what the machines run are real.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assisted_lab_tools::wait::Wait;
use assisted_testkit::{built, kubernetes, tied};
use serde_json::Value;

use crate::namespaces::Cluster;
use crate::support::{console, has_node, output, run, text};

/// Longer than the lab's own limit, which says more.
const LIMIT: Duration = Duration::from_secs(22 * 60);
const NAMES: [&str; 4] = ["master-0", "master-1", "master-2", "worker-0"];
/// How long a change may take, and a command.
const CHANGE: Duration = Duration::from_secs(10 * 60);
const COMMAND: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_secs(2);

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

/// `kubectl` at the hub of a lab that runs.
pub fn kubectl(cluster: &Cluster, words: &[&str]) -> Command {
    let kubectl = kubernetes::find("kubectl").unwrap();
    let first = [text(&kubectl), "--kubeconfig", "hub/kubeconfig", "--request-timeout=60s"];
    cluster.exec(&[&first[..], words].concat())
}

/// Objects of a kind at the hub of a lab that runs.
pub fn all(cluster: &Cluster, kind: &str) -> Vec<Value> {
    let told = run(kubectl(cluster, &["get", kind]).args(["-o", "json"])).stdout;
    let list: Value = serde_json::from_slice(&told).unwrap();
    list["items"].as_array().unwrap().clone()
}

pub fn one<'a>(objects: &'a [Value], name: &str) -> &'a Value {
    objects
        .iter()
        .find(|object| object["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {objects:#?}"))
}

pub fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// The nodes of the cluster.
pub fn of_cluster(cluster: &Cluster) -> Vec<Value> {
    cluster.object(&["get", "nodes"])["items"].as_array().unwrap().clone()
}

/// Waits until something is so, or shows objects of these kinds; the lab has to live.
pub fn until(cluster: &Cluster, kinds: &str, what: &str, is_so: impl Fn() -> bool) {
    let mut wait = Wait::new(what, cluster.dir().join("told").display(), CHANGE);
    while !is_so() {
        if let Err(late) = wait.pause(POLL_INTERVAL) {
            let objects = output(&mut kubectl(cluster, &["get", kinds, "-o", "yaml"]), COMMAND).stdout;
            panic!("{late}\n{}\n{}", cluster.everything(), String::from_utf8_lossy(&objects));
        }
    }
}

/// The one cluster of the hub is installed.
fn is_installed(installs: &[Value]) {
    let [install] = installs else { panic!("{installs:?}") };
    for (kind, expected) in
        [("SpecSynced", "True"), ("Completed", "True"), ("Failed", "False"), ("Stopped", "True")]
    {
        assert_eq!(condition(install, kind), expected, "{kind}");
    }
    let state = install["status"]["debugInfo"]["state"].as_str().unwrap();
    // It takes in further hosts as soon as it is installed.
    assert!(matches!(state, "installed" | "adding-hosts"), "{install}");
}

/// Each machine has become the Agent that its object asked for.
fn are_agents(agents: &[Value]) {
    assert_eq!(agents.len(), NAMES.len());
    for name in NAMES {
        let agent = agents.iter().find(|agent| agent["spec"]["hostname"] == name).unwrap();
        assert_eq!(agent["spec"]["approved"], true, "{agent}");
        assert!(name.starts_with(agent["spec"]["role"].as_str().unwrap()), "{agent}");
        for kind in ["SpecSynced", "Bound", "Installed"] {
            assert_eq!(condition(agent, kind), "True", "{kind} of {name}");
        }
    }
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

    is_installed(&objects(dir.path(), "agentclusterinstalls"));
    are_agents(&objects(dir.path(), "agents"));
    // metal3 keeps its hands off the machines.
    let machines = objects(dir.path(), "baremetalhosts");
    assert_eq!(machines.len(), NAMES.len());
    let [infra_env] = &objects(dir.path(), "infraenvs")[..] else { panic!("one InfraEnv is asked for") };
    for name in NAMES {
        let machine = one(&machines, name);
        assert_eq!(machine["spec"]["image"]["url"], infra_env["status"]["isoDownloadURL"], "{machine}");
        assert_eq!(machine["status"]["provisioning"]["image"]["url"], machine["spec"]["image"]["url"]);
        let annotations = &machine["metadata"]["annotations"];
        assert!(annotations["baremetalhost.metal3.io/detached"].is_string(), "{machine}");
        assert!(annotations["inspect.metal3.io/hardwaredetails"].is_string(), "{machine}");
    }
}

/// What a lab of the converged flow shows of its hub.
const CONVERGED: &str = "agentclusterinstalls,agents,infraenvs,baremetalhosts,preprovisioningimages";
const DETACHED: &str = "baremetalhost.metal3.io/detached";

/// metal3 has inspected a machine with the image of its InfraEnv and had it installed, and keeps its hands off it now.
fn was_installed_by_metal3(machine: &Value, image: &Value, infra_env: &Value) {
    assert_eq!(condition(image, "Ready"), "True", "{image}");
    assert_eq!(image["status"]["imageUrl"], infra_env["status"]["isoDownloadURL"], "{image}");
    let (spec, status) = (&machine["spec"], &machine["status"]);
    assert!(spec["image"].is_null(), "nobody names an image in this flow: {machine}");
    assert_eq!(spec["customDeploy"]["method"], "start_assisted_install", "{machine}");
    assert_eq!(status["provisioning"]["state"], "provisioned", "{machine}");
    assert_eq!(status["provisioning"]["customDeploy"], spec["customDeploy"], "{machine}");
    assert_eq!(status["hardware"]["hostname"], machine["metadata"]["name"], "{machine}");
    assert_eq!(status["hardware"]["nics"][0]["mac"], spec["bootMACAddress"], "{machine}");
    assert_eq!(status["operationalStatus"], "detached", "{machine}");
    let annotations = &machine["metadata"]["annotations"];
    assert_eq!(annotations[DETACHED], "assisted-service-controller", "{machine}");
    assert!(annotations["baremetalhost.metal3.io/paused"].is_string(), "{machine}");
}

/// The worker's object is deleted, and is to take its Agent along: the node is drained first, then metal3 empties the machine.
fn worker_goes(cluster: &Cluster) {
    let [masters @ .., worker] = &NAMES;
    let own = "bmac.agent-install.openshift.io";
    let (remove, limit) =
        (format!("{own}/remove-agent-and-node-on-delete=true"), format!("{own}/drain-timeout=2m"));
    run(&mut kubectl(cluster, &["annotate", "baremetalhost", worker, &remove, &limit]));
    until(cluster, CONVERGED, "a machine that waits for its Agent when it goes", || {
        let machines = all(cluster, "baremetalhosts");
        one(&machines, worker)["metadata"]["annotations"][DETACHED] == r#"{"deleteAction":"delay"}"#
    });
    run(&mut kubectl(cluster, &["delete", "baremetalhost", worker, "--wait=false"]));
    let left = |kind: &str| all(cluster, kind).iter().map(name).collect::<Vec<_>>();
    until(cluster, CONVERGED, "the end of the worker's objects", || {
        left("baremetalhosts") == masters
            && left("preprovisioningimages") == masters
            && left("agents").len() == masters.len()
    });
    until(cluster, CONVERGED, "the end of the worker's node", || {
        of_cluster(cluster).iter().map(name).collect::<Vec<_>>() == masters
    });
    assert!(!cluster.dir().join(worker).exists(), "{worker} has kept its disk");
    cluster.said(&[
        r#""state":"deprovisioning""#,
        "worker-0: switched off, and its disks are emptied",
        r#""state":"powering off before delete""#,
        r#""state":"deleting""#,
    ]);
}

#[test]
fn everything_manifests_alone_install_a_cluster_by_the_converged_flow() {
    let cluster = Cluster::start(&["--hub=converged", "--topology", "compact", "--workers", "1"], &NAMES);
    // Nobody gave the service an order.
    assert!(!cluster.told().contains("$ assisted "), "{}", cluster.told());
    for name in NAMES {
        cluster.said(&[
            &format!("{name}: its PreprovisioningImage has "),
            &format!("{name}: Ironic's agent is to run start_assisted_install"),
            &format!("{name}: Ironic restarts it, from its disk"),
        ]);
    }
    is_installed(&all(&cluster, "agentclusterinstalls"));
    are_agents(&all(&cluster, "agents"));
    let (machines, images) = (all(&cluster, "baremetalhosts"), all(&cluster, "preprovisioningimages"));
    assert_eq!((machines.len(), images.len()), (NAMES.len(), NAMES.len()));
    let [infra_env] = &all(&cluster, "infraenvs")[..] else { panic!("one InfraEnv is asked for") };
    for name in NAMES {
        was_installed_by_metal3(one(&machines, name), one(&images, name), infra_env);
    }
    worker_goes(&cluster);
}
