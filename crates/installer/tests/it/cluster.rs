//! The host that plays bootstrap, and a cluster that forms around it: a real kube-apiserver, whose nodes come and go as the
//! test says.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use assisted_installer::Intervals;
use assisted_installer::kube::{Api, Kube as Cluster, Kubeconfig};
use assisted_testkit::kube::Kube;
use assisted_wire::host::HostRole;
use serde_json::{Value, json};

use crate::machine::{Machine, config};
use crate::service::{Service, Site};

/// Far longer than anything here takes: a test that waits for what never comes ends.
const TIMEOUT: Duration = Duration::from_secs(120);
const MASTER: &str = "node-role.kubernetes.io/master";

/// Runs `kubectl` with an object as its input.
fn kubectl(args: &[&str], input: &str) -> String {
    kubectl_of(Kube::start().unwrap(), args, input)
}

fn kubectl_of(kube: &Kube, args: &[&str], input: &str) -> String {
    let mut command = kube.kubectl();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl {args:?}: {told}");
    told
}

/// The same, beside the installer.
async fn kubectl_beside(args: &'static [&'static str], input: String) {
    tokio::task::spawn_blocking(move || kubectl(args, &input)).await.unwrap();
}

fn node(name: &str, label: &str, taint: Option<&str>) -> Value {
    let config = "rendered-master-1";
    let taints: Vec<_> = taint.into_iter().map(|key| json!({"key": key, "effect": "NoSchedule"})).collect();
    json!({"apiVersion": "v1", "kind": "Node", "spec": {"taints": taints}, "metadata": {"name": name, "labels": {label: ""},
        "annotations": {"machineconfiguration.openshift.io/currentConfig": config,
                        "machineconfiguration.openshift.io/desiredConfig": config}}})
}

fn base() -> String {
    let kinds = assisted_lab_kinds::kinds().unwrap();
    let machine_config =
        kinds.iter().find(|kind| kind.kind == "MachineConfig").unwrap().definition().unwrap();
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "assisted-installer"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-config-v1", "namespace": "kube-system"},
         "data": {"install-config": "controlPlane:\n  replicas: 3\n"}},
        machine_config,
        node("node-1", MASTER, None),
    ]});
    objects.to_string()
}

/// Makes a node ready, with an address.
const READY: [&str; 2] = [
    r#"{"status":{"conditions":[{"type":"Ready","status":"True","reason":"x","message":"x"}],"addresses":[{"type":"InternalIP","address":"192.0.2.1"}]}}"#,
    r#"{"status":{"conditions":[{"type":"Ready","status":"True","reason":"x","message":"x"}],"addresses":[{"type":"InternalIP","address":"10.0.0.12"}]}}"#,
];

fn controller_is_ready() -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "reason": "x", "message": "x", "type": "Normal",
        "metadata": {"name": "AssistedControllerIsReady", "namespace": "assisted-installer"},
        "involvedObject": {"kind": "Pod", "namespace": "assisted-installer", "name": "x"}})
}

fn rendered() -> Value {
    json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "rendered-master-1"}, "spec": {}})
}

/// Has a cluster stand that a bootstrap needs to wait for no more: two masters are ready, and so is the controller.
pub(crate) fn stand(kube: &Kube) {
    kubectl_of(kube, &["apply", "-f", "-"], &base());
    kubectl_of(kube, &["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"], "");
    for object in [node("node-2", MASTER, None), controller_is_ready(), rendered()] {
        kubectl_of(kube, &["apply", "-f", "-"], &object.to_string());
    }
    for (name, ready) in [("node-1", READY[0]), ("node-2", READY[1])] {
        kubectl_of(kube, &["patch", "node", name, "--subresource=status", "--type=merge", "-p", ready], "");
    }
}

async fn until(what: &str, come: impl Fn() -> bool) {
    let seen = tokio::time::timeout(TIMEOUT, async {
        while !come() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    seen.await.unwrap_or_else(|_| panic!("{what} never came"));
}

#[tokio::test]
async fn a_bootstrap_hands_over_to_the_cluster_that_forms() {
    let kubeconfig = std::fs::read(Kube::start().unwrap().kubeconfig()).unwrap();
    kubectl(&["apply", "-f", "-"], &base());
    let site = Site { role: HostRole::Master, bootstrap: true, masters: 3, day_two: false };
    let service = Service::start(site).await;
    let machine = Machine::new();
    std::fs::write(machine.path("kubeconfig"), &kubeconfig).unwrap();
    let mut config = config(&service.url, HostRole::Bootstrap, 3);
    config.intervals = Intervals::faster(50);
    let installer = machine.installer(config, TIMEOUT);
    let told = |text: &str| service.reports().iter().any(|report| report.contains(text));
    let joined = |text: &str| service.told.lock().unwrap().peers.iter().any(|peer| peer == text);
    let story = async {
        until("wait for masters", || told("Waiting for masters to join bootstrap control plane")).await;
        let log = machine.path("var/log/containers/machine-config-server-node-0_x.log");
        std::fs::write(log, "requested by address:\"[::ffff:1]:1\" User-Agent:\"curl\"\nby 10.0.0.11:32780 User-Agent:\"Ignition/2.6.0\"\n").unwrap();
        until("a host that asks for its config", || joined("1 Configuring")).await;
        assert!(!joined("1 Joined"), "it isn't ready");
        kubectl_beside(
            &["patch", "node", "node-1", "--subresource=status", "--type=merge", "-p", READY[0]],
            String::new(),
        )
        .await;
        until("a node known by its name", || joined("1 Joined")).await;
        // One that was ready counts, whatever becomes of it.
        kubectl_beside(&["delete", "node", "node-1"], String::new()).await;
        kubectl_beside(&["apply", "-f", "-"], node("some-other-name", MASTER, None).to_string()).await;
        kubectl_beside(
            &["patch", "node", "some-other-name", "--subresource=status", "--type=merge", "-p", READY[1]],
            String::new(),
        )
        .await;
        until("a node known by its address", || joined("2 Joined")).await;
        until("wait for the controller", || told("waiting for controller pod ready event")).await;
        kubectl_beside(&["apply", "-f", "-"], controller_is_ready().to_string()).await;
        until("logs of the cluster", || {
            service.was_asked("clusters/11111111-3c08-4d97-8ec7-ea0ad7d4cadf/logs-progress")
        })
        .await;
        assert!(!told("Rebooting"), "the machine config isn't there");
        kubectl_beside(&["apply", "-f", "-"], rendered().to_string()).await;
    };
    let (done, ()) =
        tokio::time::timeout(2 * TIMEOUT, async { tokio::join!(installer.run(), story) }).await.unwrap();
    done.unwrap();
    assert_eq!(
        service.stages(),
        [
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Waiting for control plane",
            "Waiting for bootkube",
            "Waiting for controller",
            "Rebooting"
        ]
    );
    assert!(told("Starting installation / bootstrap") && told("Installing / master"));
    let asked = machine.calls();
    for begin in [
        "ssh-keygen -q -f /root/.ssh/id_rsa",
        "systemctl restart NetworkManager.service",
        "systemd-run --on-active=",
    ] {
        assert!(asked.iter().any(|line| line.starts_with(begin)), "{begin}: {asked:#?}");
    }
    let key = machine
        .path("opt/openshift/openshift/99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml");
    assert!(std::fs::read_to_string(key).unwrap().contains("- ssh-rsa AAAA root@host"));
    // The API itself judges what the controller needs.
    let manifests = machine.path("opt/openshift/manifests");
    let applied = kubectl(&["apply", "--dry-run=server", "-f", manifests.to_str().unwrap()], "");
    assert_eq!(applied.lines().filter(|line| line.contains("server dry run")).count(), 8, "{applied}");
    taints(&kubeconfig).await;
}

/// A taint goes, and nothing else does.
async fn taints(kubeconfig: &[u8]) {
    const LABEL: &str = "example.com/tainted";
    const KEY: &str = "node.cloudprovider.kubernetes.io/uninitialized";
    kubectl_beside(&["apply", "-f", "-"], node("tainted", LABEL, Some(KEY)).to_string()).await;
    let cluster = Cluster::Api(Box::new(Api::new(&Kubeconfig::read(kubeconfig).unwrap()).unwrap()));
    let before = cluster.nodes(LABEL).await.unwrap();
    assert!(before.len() == 1 && before[0].taint(KEY).is_some());
    cluster.remove_taint(&before[0], "another").await.unwrap();
    cluster.remove_taint(&before[0], KEY).await.unwrap();
    assert_eq!(cluster.nodes(LABEL).await.unwrap()[0].taint(KEY), None);
    // What is known of the node is old by now.
    let error = cluster.remove_taint(&before[0], KEY).await.unwrap_err().to_string();
    assert!(error.contains("the cluster refuses /api/v1/nodes/tainted"), "{error}");
    assert!(!cluster.has_event("Another").await.unwrap());
    assert_eq!(cluster.controller_log(60).await.unwrap(), None);
}
