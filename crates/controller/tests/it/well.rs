//! An installation that ends well, with strangers, interruptions of every part, and all that has to be done.

use std::time::Duration;

use assisted_controller::Exit;
use assisted_service::Clock;
use assisted_wire::cluster::{ClusterStatus, FinalizingStage};
use assisted_wire::host::HostStage;
use assisted_wire::operator::OperatorStatus;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use crate::installation::Installation;
use crate::kubelet::Wish;
use crate::world::{World, until};

const CA: &str = include_str!("../../../simhost/src/ingress-ca.pem");
const NMSTATE: &str = "openshift-nmstate";
const METALLB: &str = "metallb-system";
const POOLS: (&str, &str, &str) =
    ("machineconfiguration.openshift.io/v1", "MachineConfigPool", "machineconfigpools");
/// What the objects of an operator hold; they lie in the namespace `default`.
const OBJECTS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-nmstate}\ndata: {a: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-nmstate-too}\n";

#[tokio::test]
async fn from_joining_to_complete() {
    LocalSet::new().run_until(Box::pin(whole())).await;
}

async fn whole() {
    let content = STANDARD.encode(OBJECTS);
    let objects = json!([{"Name": "nmstate", "Content": content}, {"Name": "unknown", "Content": "!"}]);
    let mut one = Installation::begin(objects, Clock::default()).await;
    let hosts = one.control_plane().await;
    let world = &one.world;
    let pool = json!({"metadata": {"name": "worker"}, "spec": {"paused": false}});
    world.apply(POOLS.0, POOLS.1, POOLS.2, None, pool).await;
    metal(world).await;
    let controller = one.controller(|_| {}).await;
    let [(first, first_address), (second, second_address), (third, third_address), (worker, worker_address)] =
        hosts.as_slice()
    else {
        panic!("{hosts:?}")
    };

    strangers(world, first).await;
    let own = world.join(first, *first_address).await;
    let first_name = format!("system:node:{first}");
    let names: &[&str] = &[first, second];
    Wish::serving("name-of-another", &first_name, names, &[]).ask(&own).await;
    Wish::serving("address-of-another", &first_name, &[first], &[*second_address]).ask(&own).await;
    Wish::serving("address-of-all", &first_name, &[first], &["10.0.0.2".parse().unwrap()]).ask(&own).await;
    Wish::serving("no-names", &first_name, &[], &[]).ask(&own).await;
    one.reaches_stage(first, HostStage::Joined).await;
    world.get_ready(&own, first, *first_address).await;
    one.reaches_stage(first, HostStage::Done).await;
    // Its place is taken now.
    Wish::client("place-of-a-ready-node", &first_name).ask(&world.bootstrapper().await).await;

    // The service goes away; a node joins meanwhile.
    one.server.lock().await.go_away().await;
    let back = spawn_service_back(&one);
    let own = world.join(second, *second_address).await;
    back.await.unwrap();

    // The controller dies, and another takes its place. One node calls itself by its whole name: it is known by its address.
    controller.abort();
    assert!(controller.await.unwrap_err().is_cancelled());
    let controller = one.controller(|_| {}).await;
    let long = format!("{third}.lab.example.com");
    let third_own = world.join(&long, *third_address).await;

    // The API goes away.
    one.world.kube.stop_api();
    tokio::time::sleep(Duration::from_secs(2)).await;
    one.world.kube.start_api().unwrap();
    let world = &one.world;
    world.get_ready(&own, second, *second_address).await;
    world.get_ready(&third_own, &long, *third_address).await;
    one.reaches_stage(third, HostStage::Done).await;
    // The worker's pool rests until its labels are set.
    until("a pool that rests", async || is_paused(world).await.then_some(())).await;
    one.restarted(4).await;
    let own = world.join(worker, *worker_address).await;
    world.get_ready(&own, worker, *worker_address).await;
    one.reaches(ClusterStatus::Finalizing).await;
    until("a pool that does not rest", async || (!is_paused(world).await).then_some(())).await;
    for (name, number) in [(first, "0"), (worker, "3")] {
        let node = world.get("v1", "Node", "nodes", None, name).await.unwrap();
        assert_eq!(node["metadata"]["labels"]["lab.example.com/number"], number, "{name}");
    }
    metal_is_told(world).await;

    // Operators come, go, and come for good; the controller dies once more.
    world.version("Progressing", "Working towards 4.20.1").await;
    world.operator("console", "Degraded", "no route yet").await;
    until("the console's trouble is known", async || {
        let operators = one.cluster().await?.monitored_operators?;
        operators.iter().any(|operator| operator.status_info == "no route yet").then_some(())
    })
    .await;
    controller.abort();
    let controller = one.controller(|_| {}).await;
    let world = &one.world;
    too_early(world).await;
    world.operator("console", "Available", "All is well").await;
    world.version("Available", "Done applying 4.20.1").await;
    world.config_map("openshift-config-managed", "default-ingress-cert", json!({"ca-bundle.crt": CA})).await;
    come_for_good(&one).await;

    assert_eq!(controller.await.unwrap(), Exit::Ended(ClusterStatus::Installed));
    refused(world).await;
    let events = one.events().await;
    let position = |text: &str| {
        // The name of one stage begins that of another.
        let found = events.iter().rposition(|event| event.contains(text));
        found.unwrap_or_else(|| panic!("no event {text}: {events:#?}"))
    };
    let stages = [
        FinalizingStage::WaitingForClusterOperators,
        FinalizingStage::AddingRouterCa,
        FinalizingStage::WaitingForOlmOperatorsCsvInitialization,
        FinalizingStage::ApplyingOlmManifests,
        FinalizingStage::WaitingForOlmOperatorsCsv,
    ];
    assert!(stages.map(|stage| position(&stage.to_string())).is_sorted(), "{events:#?}");
    let cluster = one.cluster().await.unwrap();
    let logs = cluster.logs_info.map(|state| state.to_string());
    assert_eq!(logs.as_deref(), Some("completed"));
    assert!(one.logs().await.iter().any(|(name, _)| name == "assisted-installer-controller.logs"));
    let name = "AssistedControllerIsReady";
    let ready = world.get("v1", "Event", "events", Some("assisted-installer"), name).await.unwrap();
    assert_eq!(ready["reason"], name);

    // Whoever starts it once more gets an end in peace.
    let again = one.controller(|_| {}).await;
    assert_eq!(again.await.unwrap(), Exit::Ended(ClusterStatus::Installed));
    one.service.transform_cluster_to_adding_hosts(one.id).await.unwrap();
    let again = one.controller(|_| {}).await;
    assert_eq!(again.await.unwrap(), Exit::Ended(ClusterStatus::AddingHosts));
    one.ended().await;
}

/// They ask first, with the credentials that every host has, and are not heard.
async fn strangers(world: &World, first: &str) {
    let bootstrapper = world.bootstrapper().await;
    let name = format!("system:node:{first}");
    Wish::client("stranger", "system:node:stranger").ask(&bootstrapper).await;
    Wish::client("no-node", first).ask(&bootstrapper).await;
    let usages = &["digital signature", "client auth", "server auth"];
    Wish { usages, ..Wish::client("usages", &name) }.ask(&bootstrapper).await;
    Wish { names: &["api.lab.example.com"], ..Wish::client("names", &name) }.ask(&bootstrapper).await;
    Wish { organization: "system:masters", ..Wish::client("organization", &name) }.ask(&bootstrapper).await;
    Wish { signer: "kubernetes.io/kube-apiserver-client", ..Wish::client("signer", &name) }
        .ask(&bootstrapper)
        .await;
    Wish::serving("server-first", &name, &[first], &[]).ask(&bootstrapper).await;
    Wish::client("requestor", &name).ask(&world.stranger().await).await;
}

async fn refused(world: &World) {
    for request in [
        "stranger",
        "no-node",
        "usages",
        "names",
        "organization",
        "signer",
        "server-first",
        "requestor",
        "name-of-another",
        "address-of-another",
        "address-of-all",
        "no-names",
        "place-of-a-ready-node",
    ] {
        assert!(!world.is_approved(request).await, "{request}");
    }
}

async fn is_paused(world: &World) -> bool {
    world
        .get(POOLS.0, POOLS.1, POOLS.2, None, "worker")
        .await
        .is_some_and(|pool| pool["spec"]["paused"] == true)
}

/// Hosts of the cluster as they are generated, and the machine of a worker.
async fn metal(world: &World) {
    let status = json!({
        "errorCount": 0, "errorMessage": "", "hardware": {"hostname": "w"}, "hardwareProfile": "", "operationalStatus": "",
        "poweredOn": true, "provisioning": {"ID": "", "state": ""},
    });
    let status = status.to_string();
    let annotations = json!({"baremetalhost.metal3.io/status": status, "kept": "yes"});
    let master = json!({"name": "machine-m"});
    world
        .bare_metal_host(
            "m",
            json!({"annotations": annotations}),
            json!({"online": true, "consumerRef": master}),
        )
        .await;
    world.bare_metal_host("w", json!({"annotations": annotations}), json!({"online": true})).await;
    world.machine("machine-m", "master").await;
    world.machine("machine-w", "worker").await;
}

async fn metal_is_told(world: &World) {
    let host = until("a host with its machine", async || {
        let host = world.get_bare_metal_host("w").await;
        host["spec"]["consumerRef"].is_object().then_some(host)
    });
    let host = host.await;
    assert_eq!(host["spec"]["consumerRef"]["name"], "machine-w");
    assert_eq!(host["metadata"]["annotations"], json!({"kept": "yes"}));
    assert_eq!(host["status"]["hardware"]["hostname"], "w");
    assert!(host["status"]["lastUpdated"].is_string() && host["spec"].get("externallyProvisioned").is_none());
    assert_eq!(world.get_bare_metal_host("m").await["spec"]["consumerRef"], json!({"name": "machine-m"}));
}

/// OLM has begun before it could: what failed for that is in its way.
async fn too_early(world: &World) {
    world.subscription(NMSTATE, "kubernetes-nmstate-operator", Some("nmstate.v1")).await;
    world.service_version(NMSTATE, "nmstate.v1", "Failed").await;
    world.subscription(METALLB, "metallb-operator", None).await;
    world.job("failed", true).await;
    world.job("running", false).await;
    world.install_plan(METALLB, "failed", "metallb-operator", "Failed").await;
    world.install_plan(METALLB, "complete", "metallb-operator", "Complete").await;
    world.install_plan(METALLB, "of-another", "other", "Failed").await;
}

async fn come_for_good(one: &Installation) {
    let world = &one.world;
    until("room for OLM", async || {
        let left = world.has_job("failed").await || world.has_install_plan(METALLB, "failed").await;
        (!left).then_some(())
    })
    .await;
    assert!(world.has_job("running").await && world.has_install_plan(METALLB, "complete").await);
    assert!(world.has_install_plan(METALLB, "of-another").await);
    world.subscription(METALLB, "metallb-operator", Some("metallb.v1")).await;
    world.service_version(METALLB, "metallb.v1", "Succeeded").await;
    for name in ["of-nmstate", "of-nmstate-too"] {
        until(name, async || world.get("v1", "ConfigMap", "configmaps", Some("default"), name).await).await;
    }
    let status = async |name: &str| {
        let operators = one.cluster().await?.monitored_operators?;
        operators.iter().find(|operator| operator.name == name)?.status
    };
    until("metallb", async || (status("metallb").await? == OperatorStatus::Available).then_some(())).await;
    // What has failed for now is not told.
    assert_ne!(status("nmstate").await, Some(OperatorStatus::Failed));
    world.service_version(NMSTATE, "nmstate.v1", "Succeeded").await;
}

/// Brings the service back after a while, as its host would.
fn spawn_service_back(one: &Installation) -> JoinHandle<()> {
    let server = one.server.clone();
    spawn_local(async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        server.lock().await.come_back().await;
    })
}
