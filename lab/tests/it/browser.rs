//! A person with a browser and machines: every order is given in the web UI, and the machines boot what it gives. What the person does
//! is `ui/tests/lab.mjs`.

use std::path::Path;
use std::time::Duration;

use assisted_lab_machines::network::{API_VIP, INGRESS_VIP};
use assisted_testkit::kubernetes;

use crate::namespaces::Cluster;
use crate::support::{has_node, output, run, text};

const NAMES: [&str; 3] = ["master-0", "master-1", "master-2"];

/// Where the browser leaves the kubeconfig that it has downloaded, in the lab's folder.
const KUBECONFIG: &str = "downloaded-kubeconfig";

/// Installs a cluster on machines of the kind that the options say, within so many minutes.
fn install(options: &[&str], minutes: u64) {
    let mut cluster = Cluster::begin(&[&["--by-hand"], options].concat(), &NAMES, minutes);
    cluster.await_text("Log in at ", minutes);
    let node =
        assisted_lab_tools::on_path("node").unwrap_or_else(|| panic!("Node is missing: `cargo xtask ui`"));
    let mut person = cluster.exec(&[text(&node), "tests/lab.mjs"]);
    person
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui"))
        .env("LAB", cluster.dir())
        .env("LAB_MINUTES", minutes.to_string())
        .env("LAB_VIPS", format!("{API_VIP},{INGRESS_VIP}"))
        .env("LAB_KUBECONFIG", KUBECONFIG)
        .env("NODE_EXTRA_CA_CERTS", cluster.dir().join("ca.pem"));
    let done = output(&mut person, Duration::from_secs(minutes * 60));
    let [told, complaints] = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(done.status.success(), "{}\n{told}{complaints}\n{}", done.status, cluster.everything());
    cluster.await_end(minutes);
    // Nobody else has given an order.
    for order in ["cluster create", "cluster update", "cluster install", "infra-env create", "host update"] {
        assert!(!cluster.told().contains(&format!("assisted {order}")), "{}", cluster.told());
    }
    // What the browser has downloaded lets in.
    let kubectl = kubernetes::find("kubectl").unwrap();
    let nodes = run(&mut cluster.exec(&[text(&kubectl), "--kubeconfig", KUBECONFIG, "get", "nodes"]));
    let nodes = String::from_utf8_lossy(&nodes.stdout);
    for name in NAMES {
        assert!(has_node(&nodes, name), "{nodes}");
    }
}

#[test]
fn everything_somebody_with_a_browser_installs_a_cluster() {
    install(&["--namespaces"], 25);
}

#[test]
fn everything_somebody_with_a_browser_installs_a_cluster_on_virtual_machines() {
    install(&[], 110);
}
