//! Operators with the objects that are made for them: at a real API that knows their kinds as soon as OLM has brought them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assisted_controller::Exit;
use assisted_core::catalogue::operators::{ClusterView, OPERATORS, subscription};
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::report::ReportKind;
use assisted_core::policy::Policy;
use assisted_service::Clock;
use assisted_wire::cluster::{ClusterStatus, FinalizingStage};
use assisted_wire::host::HostStage;
use assisted_wire::operator::OperatorStatus;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::{LocalSet, spawn_local};

use crate::installation::{Installation, config, moved_clock, params};
use crate::service::{Files, Server};
use crate::world::{World, until};

const CA: &str = include_str!("../../../simhost/src/ingress-ca.pem");

/// No stage takes longer, in seconds.
const STAGE: i64 = 75 * 60;

/// A machine of the control plane that can store.
fn host(number: usize) -> HostFacts {
    let time = "2026-01-01T00:00:00Z";
    let host = json!({
        "kind": "Host", "id": format!("00000000-0000-0000-0000-{number:012}"), "href": "", "status": "installing", "status_info": "",
        "created_at": time, "updated_at": time, "role": "master", "installation_disk_id": "/dev/sda",
    });
    let mut facts = HostFacts::new(params(json!({"host": host})), Timestamp::now());
    let disk = |name: &str| {
        json!({
            "id": format!("/dev/{name}"), "name": name, "drive_type": "SSD", "size_bytes": 900_000_000_000_u64,
            "installation_eligibility": {"eligible": true},
        })
    };
    let inventory = json!({"disks": [disk("sda"), disk("sdb")]});
    facts.put_report(ReportKind::Inventory, inventory.to_string().into());
    facts
}

/// A cluster with operators.
fn facts(operators: &[&str]) -> Facts {
    let rows: Vec<_> = operators.iter().map(|name| json!({"name": name, "operator_type": "olm"})).collect();
    let time = "2026-01-01T00:00:00Z";
    let cluster = json!({
        "kind": "Cluster", "id": "1b7dbf10-3b7f-4a7b-8d1a-3a8c2c2f5a4e", "href": "", "name": "lab",
        "status": "installing", "status_info": "", "image_info": {"created_at": time}, "created_at": time,
        "updated_at": time, "openshift_version": "4.18.1", "control_plane_count": 3, "monitored_operators": rows,
    });
    Facts {
        hosts: (1..=3).map(host).collect(),
        cluster: Some(params(json!({"cluster": cluster}))),
        infra_envs: BTreeMap::new(),
        policy: Arc::new(Policy::default()),
        now: Timestamp::now(),
    }
}

/// What is installed with the cluster is there.
async fn installed(world: &World, facts: &Facts) {
    let view = ClusterView::of(facts).unwrap();
    let mut manifests: Vec<_> =
        subscription::manifests(&view).into_iter().map(|(_, object)| object).collect();
    // As an installation does: what others lie in comes first.
    manifests.sort_by_key(|object| object["kind"] != "Namespace");
    for object in manifests {
        let stored = world.apply_any(&object).await.unwrap_or_else(|error| panic!("{object}: {error}"));
        assert!(has(&stored, &object), "{object} is stored as {stored}");
    }
}

/// Whether an object has all that another one has; nothing was left out for being unknown.
fn has(stored: &Value, object: &Value) -> bool {
    match object {
        Value::Object(members) => members.iter().all(|(name, value)| {
            // An API leaves out the namespace of what lies in none.
            let none = name == "namespace" && stored.get(name).is_none();
            none || stored.get(name).is_some_and(|stored| has(stored, value))
                || (value.as_object().is_some_and(serde_json::Map::is_empty) && stored.get(name).is_none())
        }),
        Value::Array(items) => stored.as_array().is_some_and(|stored| {
            stored.len() == items.len() && stored.iter().zip(items).all(|(stored, item)| has(stored, item))
        }),
        plain => stored == plain,
    }
}

/// Fields that definitions of some versions lack, and with which objects are written for those that have them.
const LEFT_OUT: [&str; 4] = [
    "HyperConverged.spec.BareMetalPlatform",
    "StorageCluster.spec.manageNodes",
    "ForkliftController.spec.olm_managed",
    "DataScienceCluster.spec.components.kserve.serving",
];

#[tokio::test]
async fn every_object_is_taken_by_an_api() {
    LocalSet::new().run_until(Box::pin(all_objects())).await;
}

/// The controller of a single node has no service: it finds the objects in the cluster.
async fn all_objects() {
    let world = World::start().await;
    let server = Server::start(Files::default(), Clock::default()).await;
    let names: Vec<_> = OPERATORS.iter().map(|operator| operator.name).collect();
    let facts = facts(&names);
    for namespace in ["openshift-operators", "openshift-monitoring"] {
        world.namespace(namespace).await;
    }
    installed(&world, &facts).await;
    let files = subscription::objects_in_cluster(&ClusterView::of(&facts).unwrap());
    world.config_map("assisted-installer", "olm-operator-manifests", json!(files)).await;
    let invoker = json!({"invoker": "agent-installer"});
    world.config_map("openshift-config", "openshift-install-manifests", invoker).await;
    let dir = tempfile::tempdir().unwrap();
    let id = params(json!("1b7dbf10-3b7f-4a7b-8d1a-3a8c2c2f5a4e"));
    let mut settings = config(&world, &dir, id, &format!("http://{}", server.address)).await;
    settings.control_plane_count = 1;
    // On a single node the controller has the administrator's credentials.
    std::fs::copy(world.kube.kubeconfig(), &settings.paths.bootstrap_kubeconfig).unwrap();
    let controller = spawn_local(async move { assisted_controller::run(&settings).await.unwrap() });

    for operator in OPERATORS {
        let subscribed = operator.subscribed("4.18.1", &facts.policy.operators);
        world.subscription(subscribed.namespace, subscribed.name, Some(operator.name)).await;
        world.service_version(subscribed.namespace, operator.name, "Succeeded").await;
        world.define(operator.name).await;
    }
    // The kinds are known by the package that a subscription asks for.
    let subscriptions = subscription::manifests(&ClusterView::of(&facts).unwrap());
    for known in assisted_lab_kinds::operators().unwrap() {
        let asks = |object: &Value| {
            object["kind"] == "Subscription" && object["spec"]["name"] == known.package.as_str()
        };
        assert!(subscriptions.iter().any(|(_, object)| asks(object)), "{}", known.package);
    }
    let (mut compared, mut left_out) = (0, Vec::new());
    for objects in subscription::objects(&ClusterView::of(&facts).unwrap()) {
        for object in objects.documents {
            let name = object["metadata"]["name"].as_str().unwrap();
            if object["kind"] == "HardwareProfile" {
                // Another object brings its namespace.
                until("DSCInitialization", async || {
                    world
                        .get(
                            "dscinitialization.opendatahub.io/v1",
                            "DSCInitialization",
                            "dscinitializations",
                            None,
                            "default-dsci",
                        )
                        .await
                })
                .await;
                world.namespace("redhat-ods-applications").await;
            }
            let stored = until(name, async || world.get_like(&object).await).await;
            let (known, left) = World::declared(&object);
            assert!(has(&stored, &known), "{object} is stored as {stored}");
            left_out.extend(left);
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
    assert!(left_out.iter().all(|path| LEFT_OUT.contains(&path.as_str())), "{left_out:?}");
    assert!(left_out.iter().any(|path| path == LEFT_OUT[0]), "{left_out:?}");
    let job = world.run_setup_job("redhat-ods-operator").await;
    job.sets_the_default_class(&world, "ocs-storagecluster-ceph-rbd").await;
    world.version("Available", "Done applying 4.18.1").await;
    assert_eq!(controller.await.unwrap(), Exit::Complete);
}

/// Six that come, one that fails, one that never comes, and one with a job that sets something up.
const SIX: [&str; 6] = ["nmstate", "metallb", "lso", "node-feature-discovery", "oadp", "kube-descheduler"];
const FAILS: &str = "node-healthcheck";
const NEVER_COMES: &str = "numaresources";
const SETS_UP: &str = "kmm";
const STORAGE: &str = "odf";

#[tokio::test]
async fn some_come_and_some_do_not() {
    LocalSet::new().run_until(Box::pin(some_come())).await;
}

async fn some_come() {
    let (passed, clock) = moved_clock();
    let names: Vec<_> = SIX.into_iter().chain([FAILS, NEVER_COMES, SETS_UP]).collect();
    // The job is made where something brings its storage, which here the test does.
    let facts = facts(&[&names[..], &[STORAGE]].concat());
    let view = ClusterView::of(&facts).unwrap();
    let made = || subscription::objects(&view).into_iter().filter(|objects| objects.operator != STORAGE);
    let entry = |objects: subscription::Objects| json!({"Name": objects.operator, "Content": STANDARD.encode(objects.yaml())});
    let objects: Value = made().map(entry).collect();
    let one = Installation::begin_with(&names, objects, clock).await;
    let world = &one.world;
    // Where operators have failed the cluster's logs belong to the controller's, which waits for them.
    one.can_gather();
    installed(world, &facts).await;
    let hosts = one.control_plane().await;
    world.version("Available", "Done applying 4.20.1").await;
    world.operator("console", "Available", "All is well").await;
    world.config_map("openshift-config-managed", "default-ingress-cert", json!({"ca-bundle.crt": CA})).await;
    let controller = one.controller(|_| {}).await;
    for (number, (name, address)) in hosts.iter().enumerate() {
        if number == 3 {
            one.restarted(4).await;
        }
        let own = world.join(name, *address).await;
        world.get_ready(&own, name, *address).await;
    }
    one.reaches(ClusterStatus::Finalizing).await;
    // A host that is still on its way would be late when time passes.
    for (name, _) in &hosts {
        one.reaches_stage(name, HostStage::Done).await;
    }
    let stage = async |stage: FinalizingStage| {
        until(&stage.to_string(), async || {
            (one.cluster().await?.progress?.finalizing_stage? == stage).then_some(())
        })
        .await;
    };
    let time_passes = async || {
        passed.fetch_add(STAGE, Ordering::SeqCst);
        one.server.lock().await.run_due();
    };
    let told = async |name: &str| {
        let operators = one.cluster().await?.monitored_operators?;
        let operator = operators.into_iter().find(|operator| operator.name == name)?;
        Some((operator.status, operator.status_info))
    };
    let is_available = async |name: &str| {
        until(name, async || (told(name).await?.0 == Some(OperatorStatus::Available)).then_some(())).await;
    };

    stage(FinalizingStage::WaitingForOlmOperatorsCsvInitialization).await;
    let phase = async |name: &str, phase: &str| {
        let operator = OPERATORS.iter().find(|operator| operator.name == name).unwrap();
        let subscribed = operator.subscribed("4.20.1", &facts.policy.operators);
        world.subscription(subscribed.namespace, subscribed.name, Some(name)).await;
        world.service_version(subscribed.namespace, name, phase).await;
    };
    for name in SIX.into_iter().chain([SETS_UP, FAILS]) {
        phase(name, "Installing").await;
    }
    time_passes().await;

    // Objects are applied as soon as their kinds are known, each by itself.
    stage(FinalizingStage::ApplyingOlmManifests).await;
    for name in SIX.into_iter().chain([FAILS]).filter(|name| *name != "oadp") {
        world.define(name).await;
    }
    for objects in made().filter(|each| !["oadp", NEVER_COMES].contains(&each.operator)) {
        for object in &objects.documents {
            until(objects.operator, async || world.get_like(object).await).await;
        }
    }
    time_passes().await;

    stage(FinalizingStage::WaitingForOlmOperatorsCsv).await;
    world.define(STORAGE).await;
    let job = world.run_setup_job("openshift-kmm").await;
    for name in SIX.into_iter().chain([SETS_UP]) {
        phase(name, "Succeeded").await;
    }
    phase(FAILS, "Failed").await;
    for name in SIX.into_iter().filter(|name| *name != "oadp") {
        is_available(name).await;
    }
    // One that lacks its objects is not there, and says what it waits for.
    until("what oadp waits for", async || {
        told("oadp").await.filter(|(status, text)| {
            *status == Some(OperatorStatus::Progressing)
                && text.starts_with(
                    "its objects are not applied yet: DataProtectionApplication openshift-adp/dpa-sample",
                )
        })
    })
    .await;
    world.define("oadp").await;
    is_available("oadp").await;
    until("what the setup job is told of", async || {
        let waits = "its setup job openshift-kmm/setup is not complete yet";
        told(SETS_UP).await.filter(|(_, text)| text == waits)
    })
    .await;
    // What has failed for now is not told before its time is up.
    assert_ne!(told(FAILS).await.unwrap().0, Some(OperatorStatus::Failed));
    time_passes().await;

    stage(FinalizingStage::WaitingForOLMOperatorSetupJobs).await;
    job.sets_up_the_registry(world).await;
    is_available(SETS_UP).await;
    let cluster = one.reaches(ClusterStatus::Installed).await;
    for name in [FAILS, NEVER_COMES] {
        let expected = (Some(OperatorStatus::Failed), "Waiting for operator timed out".to_owned());
        assert_eq!(told(name).await.unwrap(), expected, "{name}");
    }
    let (text, failed) = cluster.status_info.split_once(": ").unwrap();
    assert_eq!(text, "Cluster is installed but degraded. Failed OLM operators");
    let mut failed: Vec<_> = failed.split(", ").collect();
    failed.sort_unstable();
    assert_eq!(failed, [FAILS, NEVER_COMES]);
    assert_eq!(controller.await.unwrap(), Exit::Ended(ClusterStatus::Installed));
    one.ended().await;
}
