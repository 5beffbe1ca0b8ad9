//! Images of nodes that were built at installation, at a real API with the published definitions of MachineOSConfig and MachineOSBuild: the test
//! does what the machine config operator does, and the controller follows it (ocl-day1 §B8, §B12).

use std::time::Duration;

use assisted_controller::Exit;
use assisted_testkit::{Fault, Proxy};
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::on_cluster_layering::{
    LayeringBuild, LayeringErrorCode, LayeringState, LayeringStatus, Pool,
};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::task::LocalSet;

use crate::installation::{Installation, params};
use crate::world::{World, until};

const CA: &str = include_str!("../../../simhost/src/ingress-ca.pem");
const API: &str = "machineconfiguration.openshift.io/v1";
const PREFIX: &str = "machineconfiguration.openshift.io/";
const TIME: &str = "2026-01-01T00:00:00Z";
/// Where the service tells of images, and takes reports.
const IMAGES: &str = "/on-cluster-layering";
const REPORTS: &str = "/on-cluster-layering/builds/";

/// What the builder has named an image.
fn image(pool: Pool) -> String {
    let digest = "0123456789abcdef".repeat(4);
    format!("api-int.lab.example.com:22626/ocl/os-image-{pool}@sha256:{digest}")
}

fn rendered(pool: Pool) -> String {
    format!("rendered-{pool}-1")
}

/// A condition that holds.
fn condition(name: &str, reason: &str) -> Value {
    json!({"type": name, "status": "True", "reason": reason, "message": "", "lastTransitionTime": TIME})
}

impl World {
    async fn machine_config(&self, name: &str, image: &str) {
        let object = json!({"metadata": {"name": name}, "spec": {"osImageURL": image}});
        self.apply(API, "MachineConfig", "machineconfigs", None, object).await;
    }

    async fn get_machine_config(&self, name: &str) -> Option<Value> {
        self.get(API, "MachineConfig", "machineconfigs", None, name).await
    }

    async fn machine_os_config(&self, object: Value) {
        self.apply(API, "MachineOSConfig", "machineosconfigs", None, object).await;
    }

    /// What the bootstrap host leaves in the cluster: the image is in each pool's configuration, and its MachineOSConfig comes with it.
    async fn bootstrapped(&self, pool: Pool) {
        let (name, image) = (rendered(pool), image(pool));
        self.machine_config(&name, &image).await;
        self.machine_config(&format!("09-ocl-osimageurl-{pool}"), &image).await;
        let configuration = json!({"name": name});
        let object = json!({
            "metadata": {"name": pool}, "spec": {"paused": false, "configuration": configuration},
            "status": {"configuration": configuration, "conditions": [condition("Updated", "AllDone")]},
        });
        self.apply(API, "MachineConfigPool", "machineconfigpools", None, object).await;
        let mut object = assisted_testkit::layering::machine_os_config(pool.as_str());
        object["metadata"]["annotations"] = json!({format!("{PREFIX}pre-built-image"): image});
        self.machine_os_config(object).await;
    }

    /// The operator takes an image over: its own MachineConfig says the same, a MachineOSBuild stands for the build that it did not make, and
    /// the annotation goes.
    async fn seed(&self, pool: Pool) {
        let image = image(pool);
        self.machine_config(&format!("10-prebuiltimage-osimageurl-{pool}"), &image).await;
        let build = format!("{pool}-0123456789abcdef");
        let object = json!({
            "apiVersion": API, "kind": "MachineOSBuild", "metadata": {"name": build},
            "spec": {
                "machineConfig": {"name": rendered(pool)}, "machineOSConfig": {"name": pool},
                "renderedImagePushSpec": format!("registry.example.com/acme/os-{pool}:latest"),
            },
        });
        self.apply_any(&object).await.unwrap();
        let mut object = assisted_testkit::layering::machine_os_config(pool.as_str());
        object["status"] = json!({
            "currentImagePullSpec": image, "observedGeneration": 1, "conditions": [condition("Seeded", "PreBuiltImageSeeded")],
            "machineOSBuild": {"group": "machineconfiguration.openshift.io", "name": build, "resource": "machineosbuilds"},
        });
        self.machine_os_config(object).await;
    }

    /// What a node says of itself and is.
    async fn tell_node(&self, name: &str, pool: Pool, annotations: Value) {
        let labels = json!({format!("node-role.kubernetes.io/{pool}"): ""});
        let patch = Patch::Merge(json!({"metadata": {"labels": labels, "annotations": annotations}}));
        Api::<Node>::all(self.admin.clone()).patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// A node has the configuration that was on its disk before its first start.
    async fn node_has_config(&self, name: &str, pool: Pool, config: &str) {
        let annotations =
            json!({format!("{PREFIX}currentConfig"): config, format!("{PREFIX}desiredConfig"): config});
        self.tell_node(name, pool, annotations).await;
    }
}

impl Installation {
    async fn report(&self, pool: Pool, more: &Value) {
        let mut build = json!({"pool": pool, "location": "bootstrap", "attempt": 1});
        for (name, value) in more.as_object().unwrap() {
            build[name] = value.clone();
        }
        let report = params(json!({"build": build}));
        self.service.report_on_cluster_layering_build(self.id, pool, &report).await.unwrap();
    }

    async fn images(&self) -> LayeringState {
        self.service.get_on_cluster_layering(self.id).await.unwrap()
    }

    async fn image_of(&self, pool: Pool) -> LayeringBuild {
        self.images().await.builds.into_iter().find(|build| build.pool == pool).unwrap()
    }

    /// The images are built, and all hosts have joined as nodes that were given them. Their names.
    async fn with_nodes(&self) -> Vec<(String, Pool)> {
        let hosts = self.control_plane().await;
        let world = &self.world;
        for pool in [Pool::Master, Pool::Worker] {
            self.report(pool, &json!({"state": "building", "percent": 58, "step": "STEP 7/12: RUN x"})).await;
            let build = self.image_of(pool).await;
            assert_eq!((build.percent, build.step.as_deref()), (58, Some("STEP 7/12: RUN x")));
            self.report(pool, &json!({"state": "ready", "image": image(pool), "seedable": true})).await;
            world.bootstrapped(pool).await;
        }
        let mut nodes = Vec::new();
        for (number, (name, address)) in hosts.iter().enumerate() {
            let pool = if number < 3 { Pool::Master } else { Pool::Worker };
            if number == 3 {
                self.restarted(4).await;
            }
            let own = world.join(name, *address).await;
            world.get_ready(&own, name, *address).await;
            world.node_has_config(name, pool, &rendered(pool)).await;
            nodes.push((name.clone(), pool));
        }
        world.version("Available", "Done applying 4.20.1").await;
        world.operator("console", "Available", "All is well").await;
        let ca = json!({"ca-bundle.crt": CA});
        world.config_map("openshift-config-managed", "default-ingress-cert", ca).await;
        nodes
    }
}

#[tokio::test]
async fn images_become_the_clusters_own() {
    LocalSet::new().run_until(Box::pin(become_own())).await;
}

async fn become_own() {
    let one = Installation::begin_in_image_mode("Bootstrap").await;
    let world = &one.world;
    let way = Proxy::start(one.server.lock().await.address).await;
    // The service refuses to say whether there are images, for a while.
    way.spoil(IMAGES, 2, Fault::Status(401, None));
    way.spoil(IMAGES, 3, Fault::Status(403, None));
    let url = format!("http://{}", way.address);
    let following = one.controller(|config| config.service_url = url).await;
    let nodes = one.with_nodes().await;
    one.reaches(ClusterStatus::Finalizing).await;
    let waits = until("what is waited for", async || {
        one.image_of(Pool::Master).await.step.filter(|step| step.contains("seeded"))
    });
    assert_eq!(waits.await, "MachineOSConfig master is not seeded: no reason is told");
    assert!(one.images().await.builds.iter().all(|build| !build.adopted));
    until("the first stage", async || one.cluster().await?.progress?.finalizing_stage).await;
    // Neither does another answer end it, once there are images, nor does a report that is refused.
    let asked = || way.seen(IMAGES).len();
    for (part, status) in [(IMAGES, 404), (REPORTS, 409), (REPORTS, 422)] {
        way.spoil(part, 2, Fault::Status(status, None));
    }
    let before = asked();
    until("more questions", async || (asked() > before + 3).then_some(())).await;

    // Seeded, and nodes are in it: only then ours goes.
    for pool in [Pool::Master, Pool::Worker] {
        world.seed(pool).await;
    }
    let waits = until("nodes that are waited for", async || {
        one.image_of(Pool::Worker).await.step.filter(|step| step.contains("is not in the image yet"))
    });
    waits.await;
    assert!(world.get_machine_config("09-ocl-osimageurl-worker").await.is_some());
    for (name, pool) in &nodes {
        let images = json!({
            format!("{PREFIX}currentImage"): image(*pool), format!("{PREFIX}desiredImage"): image(*pool),
        });
        world.tell_node(name, *pool, images).await;
    }
    until("images that are the cluster's own", async || {
        (one.images().await.status == LayeringStatus::Adopted).then_some(())
    })
    .await;
    one.reaches(ClusterStatus::Installed).await;
    assert_eq!(following.await.unwrap(), Exit::Ended(ClusterStatus::Installed));

    for pool in [Pool::Master, Pool::Worker] {
        // The operator's own says the same, so that names are as they were on disk.
        assert!(world.get_machine_config(&format!("09-ocl-osimageurl-{pool}")).await.is_none());
        let component =
            world.get_machine_config(&format!("10-prebuiltimage-osimageurl-{pool}")).await.unwrap();
        assert_eq!(component["spec"]["osImageURL"], image(pool));
        let state =
            world.get(API, "MachineConfigPool", "machineconfigpools", None, pool.as_str()).await.unwrap();
        assert_eq!(state["spec"]["configuration"]["name"], rendered(pool));
        let config =
            world.get(API, "MachineOSConfig", "machineosconfigs", None, pool.as_str()).await.unwrap();
        assert!(config["metadata"]["annotations"].is_null(), "{config}");
    }
    for (name, pool) in &nodes {
        let node = world.get("v1", "Node", "nodes", None, name).await.unwrap();
        assert_eq!(node["metadata"]["annotations"][format!("{PREFIX}currentConfig")], rendered(*pool));
    }
    // No build but those that stand for ours.
    let builds = world.list(API, "MachineOSBuild", "machineosbuilds").await;
    assert_eq!(builds, ["master-0123456789abcdef", "worker-0123456789abcdef"]);
    let events = one.events().await;
    for pool in ["master", "worker"] {
        let told = format!("The cluster has taken over the OS image of pool {pool}");
        assert!(events.contains(&told), "{told}: {events:#?}");
    }
    // The controller's logs say how all of it is.
    let logs = one.logs().await;
    let objects = logs.iter().find(|(name, _)| name == "ocl/objects.json").unwrap();
    let objects: Value = serde_json::from_slice(&objects.1).unwrap();
    assert_eq!(objects["MachineOSConfig master"]["status"]["currentImagePullSpec"], image(Pool::Master));
    one.ended().await;
}

#[tokio::test]
async fn a_node_in_another_image_ends_the_installation() {
    LocalSet::new().run_until(Box::pin(another_image())).await;
}

async fn another_image() {
    let one = Installation::begin_in_image_mode("Bootstrap").await;
    one.can_gather();
    let following = one.controller(|_| {}).await;
    let nodes = one.with_nodes().await;
    one.reaches(ClusterStatus::Finalizing).await;
    one.world.machine_config("rendered-master-0", "quay.io/os@sha256:0").await;
    one.world.node_has_config(&nodes[1].0, Pool::Master, "rendered-master-0").await;
    let cluster = one.reaches(ClusterStatus::Error).await;
    let (name, expected) = (&nodes[1].0, image(Pool::Master));
    let told = format!("node {name} boots quay.io/os@sha256:0, and not {expected}");
    assert_eq!(cluster.status_info, format!("OS image build failed for pool master: {told}"));
    assert_eq!(one.image_of(Pool::Master).await.error_code, Some(LayeringErrorCode::Boot));
    assert_eq!(following.await.unwrap(), Exit::Ended(ClusterStatus::Error));
    let logs = one.logs().await;
    let objects = logs.iter().find(|(name, _)| name == "ocl/objects.json").unwrap();
    let text = String::from_utf8_lossy(&objects.1).into_owned();
    assert!(nodes.iter().all(|(name, _)| text.contains(name.as_str())), "{text}");
    one.ended().await;
}

#[tokio::test]
async fn everything_images_that_are_not_taken_over_in_time_end_the_installation() {
    LocalSet::new().run_until(Box::pin(too_late())).await;
}

async fn too_late() {
    let one = Installation::begin_in_image_mode("Bootstrap").await;
    one.can_gather();
    let following = one.controller(|config| config.intervals.adoption_limit = Duration::from_secs(3)).await;
    one.with_nodes().await;
    let cluster = one.reaches(ClusterStatus::Error).await;
    let told =
        "OS image build failed for pool master: MachineOSConfig master is not seeded: no reason is told";
    assert_eq!(cluster.status_info, told);
    assert_eq!(one.image_of(Pool::Master).await.error_code, Some(LayeringErrorCode::Adopt));
    assert_eq!(following.await.unwrap(), Exit::Ended(ClusterStatus::Error));
    one.ended().await;
}
