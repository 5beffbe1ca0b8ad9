//! The image of workers, built in the cluster (ocl-day1 §B7.1): what the controller creates, follows, and hands over. The API and the service
//! are real; a test does what nodes, the controller of Jobs and the machine config operator would.

use std::collections::BTreeSet;
use std::time::Duration;

use assisted_controller::Exit;
use assisted_testkit::layering::push_secret;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStage;
use assisted_wire::on_cluster_layering::{
    BuildState, LayeringBuild, LayeringErrorCode, LayeringReport, Pool,
};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, LocalSet};

use crate::installation::{Installation, SECRET_TYPE};
use crate::world::{World, until};

const NAMESPACE: &str = "assisted-installer";
const OPERATOR: &str = "openshift-machine-config-operator";
const NAME: &str = "ocl-build-worker";
const CONFIGS: (&str, &str, &str) =
    ("machineconfiguration.openshift.io/v1", "MachineConfig", "machineconfigs");
const POOLS: (&str, &str, &str) =
    ("machineconfiguration.openshift.io/v1", "MachineConfigPool", "machineconfigpools");
const OS_CONFIGS: (&str, &str, &str) =
    ("machineconfiguration.openshift.io/v1", "MachineOSConfig", "machineosconfigs");
const TIME: &str = "2026-01-01T00:00:00Z";
const BUILT: &str = "machineconfiguration.openshift.io/pre-built-image";

fn image(pool: &str) -> String {
    let digest = if pool == "master" { "0" } else { "1" };
    format!("api-int.lab.example.com:22626/ocl/os-image-{pool}@sha256:{}", digest.repeat(64))
}

/// What the builder tells.
fn progress(state: &str, percent: u8, image: Option<&str>, error: &Value) -> Value {
    json!({"builds": [{
        "pool": "worker", "state": state, "attempt": 1, "step": "STEP 1/2: FROM configs", "percent": percent, "started_at": TIME,
        "updated_at": TIME, "rendered_machine_config": "rendered-worker-1", "base_image": "quay.io/os:1", "image": image,
        "digest": null, "error": error,
    }], "seedable": true})
}

/// The cluster as the parts of it see it that a test stands for.
struct Parts<'a> {
    one: &'a Installation,
    /// With the rights of the builder's account.
    builder: Client,
}

impl Parts<'_> {
    fn world(&self) -> &World {
        &self.one.world
    }

    fn jobs(&self) -> Api<Job> {
        Api::namespaced(self.world().admin.clone(), NAMESPACE)
    }

    async fn controller(&self) -> JoinHandle<Exit> {
        self.one.controller(|config| config.intervals.summary_limit = Duration::ZERO).await
    }

    /// A control plane node that is ready.
    async fn node(&self, name: &str, role: &str, annotations: Value) {
        let labels = json!({format!("node-role.kubernetes.io/{role}"): ""});
        let object = json!({"metadata": {"name": name, "labels": labels, "annotations": annotations}});
        self.world().apply("v1", "Node", "nodes", None, object).await;
        let status = json!({"status": {
            "allocatable": {"ephemeral-storage": "100Gi"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
        }});
        let nodes = Api::<Node>::all(self.world().admin.clone());
        nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await.unwrap();
    }

    /// The pool of workers has a rendered configuration that names an image.
    async fn render(&self, name: &str, image: &str) {
        let spec = json!({"osImageURL": image, "config": {"ignition": {"version": "3.2.0"}}});
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.world().apply(CONFIGS.0, CONFIGS.1, CONFIGS.2, None, object).await;
        let configuration = json!({"name": name});
        let updated = json!({"type": "Updated", "status": "True", "reason": "", "message": "", "lastTransitionTime": TIME});
        let pool = json!({
            "metadata": {"name": "worker"}, "spec": {"configuration": configuration},
            "status": {"configuration": configuration, "conditions": [updated]},
        });
        self.world().apply(POOLS.0, POOLS.1, POOLS.2, None, pool).await;
    }

    /// The build as the service knows it.
    async fn build(&self) -> LayeringBuild {
        let state = self.one.service.get_on_cluster_layering(self.one.id).await.unwrap();
        state.builds.into_iter().find(|build| build.pool == Pool::Worker).unwrap()
    }

    async fn reaches(&self, what: &str, is: impl Fn(&LayeringBuild) -> bool) -> LayeringBuild {
        until(what, async || Some(self.build().await).filter(&is)).await
    }

    /// The build can't begin, and the service is told what is missing.
    async fn waits_for(&self, what: &str) {
        let build = self.reaches(what, |build| build.step.as_ref().is_some_and(|step| step.contains(what)));
        assert_eq!(build.await.state, BuildState::Pending);
    }

    async fn fails(&self, code: LayeringErrorCode, why: &str) {
        let build = self.reaches(why, |build| build.state == BuildState::Failed).await;
        assert_eq!(build.error_code, Some(code), "{build:?}");
        assert!(build.error.as_ref().unwrap().contains(why), "{build:?}");
    }

    async fn report(&self, build: Value) {
        let build: LayeringBuild = serde_json::from_value(build).unwrap();
        let (pool, report) = (build.pool, LayeringReport { build: Some(build), hosts: Vec::new() });
        self.one.service.report_on_cluster_layering_build(self.one.id, pool, &report).await.unwrap();
    }

    /// The builder's Job, other than one that was there before.
    async fn job(&self, before: &str) -> Job {
        until("the builder's Job", async || {
            let job = self.jobs().get_opt(NAME).await.unwrap()?;
            (job.uid().unwrap() != before && job.metadata.deletion_timestamp.is_none()).then_some(job)
        })
        .await
    }

    /// The builder tells how far it is, with the rights that its account has.
    async fn tells(&self, progress: &Value, at: &str) {
        let maps = Api::<ConfigMap>::namespaced(self.builder.clone(), NAMESPACE);
        let patch = json!({"data": {"progress.json": progress.to_string(), "told-at": at}});
        // What an account may do is known a moment after it was granted.
        until("what the builder may tell", async || {
            maps.patch("ocl-build-worker-status", &PatchParams::default(), &Patch::Merge(&patch)).await.ok()
        })
        .await;
    }

    /// A Job has ended, as its own controller tells it.
    async fn ends(&self, name: &str, kind: &str, reason: &str) {
        let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": reason, "message": "why", "lastTransitionTime": TIME});
        let mut status = json!({"startTime": TIME});
        if kind == "Complete" {
            status["completionTime"] = json!("2026-01-01T00:01:00Z");
            status["succeeded"] = json!(1);
            status["conditions"] = json!([condition("SuccessCriteriaMet"), condition("Complete")]);
        } else {
            status["failed"] = json!(1);
            status["conditions"] = json!([condition("FailureTarget"), condition("Failed")]);
        }
        let patch = Patch::Merge(json!({ "status": status }));
        self.jobs().patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Registries that are to get the image get it.
    async fn replicates(&self, nodes: usize) {
        let replicas = until("Jobs of the registries", async || {
            let all = self.jobs().list(&Default::default()).await.unwrap().items;
            let own: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
            let own: Vec<_> = own.into_iter().filter(|name| name.starts_with("ocl-replicate-")).collect();
            // One after the other would take as long as all.
            (own.len() == nodes).then_some(own)
        });
        for name in replicas.await {
            let job = self.jobs().get(&name).await.unwrap();
            if job.status.and_then(|status| status.succeeded).is_none() {
                self.ends(&name, "Complete", "").await;
            }
        }
    }

    /// The build begins once more, as it does after a reset; another controller follows it.
    async fn begins_anew(&self, attempt: u32) {
        let maps = Api::<ConfigMap>::namespaced(self.world().admin.clone(), NAMESPACE);
        let _ = maps.delete("ocl-build-worker-status", &DeleteParams::default()).await;
        let _ = self.jobs().delete(NAME, &DeleteParams::background()).await;
        until("no Job", async || self.jobs().get_opt(NAME).await.unwrap().is_none().then_some(())).await;
        self.report(
            json!({"pool": "worker", "location": "control-plane", "state": "pending", "attempt": attempt}),
        )
        .await;
    }
}

#[tokio::test]
async fn an_image_is_built_in_the_cluster() {
    LocalSet::new().run_until(Box::pin(whole())).await;
}

async fn whole() {
    let one = Installation::begin_in_image_mode("ControlPlane").await;
    let hosts = one.control_plane().await;
    let names: Vec<&str> = hosts.iter().map(|(name, _)| name.as_str()).collect();
    let user = format!("system:serviceaccount:{NAMESPACE}:{NAME}");
    let groups = ["system:serviceaccounts", "system:authenticated"];
    let builder = one.world.somebody(&user, &groups).await;
    let parts = Parts { one: &one, builder };
    let master = json!({
        "pool": "master", "location": "bootstrap", "state": "ready", "attempt": 1, "image": image("master"), "adopted": true,
    });
    parts.report(master).await;
    assert_eq!(parts.build().await.state, BuildState::Pending);

    fails_by_its_containerfile(&parts, &names).await;
    fails_by_its_job(&parts).await;
    ends_well(&parts, &names).await;

    let controller = parts.controller().await;
    one.service.cancel_installation(one.id).await.unwrap();
    assert_eq!(controller.await.unwrap(), Exit::Ended(ClusterStatus::Cancelled));
    drop(parts);
    one.ended().await;
}

/// Nothing is begun before two nodes are ready; the builder's failure is the build's, and leaves no credentials.
async fn fails_by_its_containerfile(parts: &Parts<'_>, names: &[&str]) {
    let world = parts.world();
    let controller = parts.controller().await;
    parts.waits_for("ConfigMap ocl-build-config is not in the cluster").await;
    let text = json!({
        "version": 1, "cluster_id": parts.one.id, "cluster": "lab", "domain": "example.com", "release_version": "4.20.1",
        "arch": "x86_64", "control_plane_count": 3,
        "registry": {"type": "Embedded", "host": "api-int.lab.example.com", "port": 22626, "namespace": "ocl"},
        "bootstrap_ip": "10.0.0.11", "master_ips": ["10.0.0.11"], "vips": [],
        "images": {"mco": "quay.io/mco:1", "docker_registry": "quay.io/registry:1"},
        "pools": [
            {"name": "master", "mosc": "mosc-master.yaml", "location": "bootstrap"},
            {"name": "worker", "mosc": "mosc-worker.yaml", "location": "control-plane"},
        ],
        "bake_configs": true, "scratch": "Auto", "build_timeout_seconds": 900, "attempts": 4,
        "proxy": {"http": "", "https": "", "no": ""},
        "service": {
            "url": "https://assisted.example.com", "infra_env_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2e",
            "host_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2f",
        },
    });
    world
        .config_map(
            NAMESPACE,
            "ocl-build-config",
            json!({"config.json": text.to_string(), "image": "quay.io/installer:1"}),
        )
        .await;
    parts.node(names[0], "master", json!({})).await;
    // The controller sees the first node long before anybody makes the second.
    parts.one.reaches_stage(names[0], HostStage::Done).await;
    parts.waits_for("1 of 2 control plane nodes are ready").await;
    assert!(parts.jobs().get_opt(NAME).await.unwrap().is_none(), "one node is not enough");
    parts.node(names[1], "master", json!({})).await;
    parts.waits_for("MachineConfigPool worker has no rendered configuration").await;
    parts.render("rendered-worker-1", "quay.io/os:1").await;
    parts.waits_for("Secret os-image-push of namespace openshift-machine-config-operator").await;
    let mut secret = push_secret(SECRET_TYPE);
    secret["metadata"]["namespace"] = OPERATOR.into();
    world.apply("v1", "Secret", "secrets", Some(OPERATOR), secret).await;
    let job = parts.job("").await;
    let pod = job.spec.unwrap().template.spec.unwrap();
    assert!(names[..2].contains(&pod.node_name.as_deref().unwrap()), "{:?}", pod.node_name);
    let secrets = Api::<Secret>::namespaced(world.admin.clone(), NAMESPACE);
    let files: BTreeSet<_> = secrets.get(NAME).await.unwrap().data.unwrap().into_keys().collect();
    let wanted = ["config.json", "credentials-os-image-push.json", "mosc-worker.yaml", "rendered.json.gz"];
    assert_eq!(files.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
    let begun = parts.reaches("a build", |build| build.state == BuildState::WaitingForRender).await;
    let host = parts.one.hosts().await.into_iter().find(|host| Some(host.id) == begun.host_id);
    assert_eq!(host.unwrap().requested_hostname, pod.node_name.unwrap());

    parts.tells(&progress("Building", 40, None, &Value::Null), "1").await;
    let building = parts.reaches("its builder's state", |build| build.state == BuildState::Building).await;
    assert_eq!((building.percent, building.step.as_deref()), (40, Some("STEP 1/2: FROM configs")));
    assert_eq!(building.host_id, begun.host_id);
    // The account may tell, and nothing else.
    let others = Api::<Secret>::namespaced(parts.builder.clone(), NAMESPACE);
    assert!(matches!(others.get(NAME).await, Err(kube::Error::Api(status)) if status.code == 403));
    let maps = Api::<ConfigMap>::namespaced(parts.builder.clone(), NAMESPACE);
    assert!(maps.get("ocl-build-config").await.is_err());

    let error =
        json!({"code": "build-user", "reason": "exit status 7", "retriable": false, "state": "Building"});
    parts.tells(&progress("Failed", 40, None, &error), "2").await;
    parts.fails(LayeringErrorCode::BuildUser, "exit status 7").await;
    until("no credentials", async || secrets.get_opt(NAME).await.unwrap().is_none().then_some(())).await;
    until("no Job", async || parts.jobs().get_opt(NAME).await.unwrap().is_none().then_some(())).await;
    controller.abort();
}

/// What a Job says of a builder that can't say anything any more.
async fn fails_by_its_job(parts: &Parts<'_>) {
    for (attempt, reason, code) in [
        (2, "DeadlineExceeded", LayeringErrorCode::Timeout),
        (3, "BackoffLimitExceeded", LayeringErrorCode::Lost),
    ] {
        parts.begins_anew(attempt).await;
        let controller = parts.controller().await;
        parts.job("").await;
        parts.tells(&progress("Building", 40, None, &Value::Null), reason).await;
        parts.reaches("its builder's state", |build| build.state == BuildState::Building).await;
        parts.ends(NAME, "Failed", reason).await;
        parts.fails(code, "why").await;
        controller.abort();
    }
}

/// Two controllers, one that dies, a Job that somebody deletes: there is one build, and one image in the end.
async fn ends_well(parts: &Parts<'_>, names: &[&str]) {
    parts.begins_anew(4).await;
    let pair = [parts.controller().await, parts.controller().await];
    let first = parts.job("").await;
    parts.tells(&progress("Pushing", 80, None, &Value::Null), "3").await;
    parts.reaches("its builder's state", |build| build.state == BuildState::Pushing).await;
    assert_eq!(parts.jobs().get(NAME).await.unwrap().uid(), first.uid(), "both follow the same Job");
    parts.jobs().delete(NAME, &DeleteParams::background()).await.unwrap();
    let second = parts.job(&first.uid().unwrap()).await;
    assert_ne!(second.uid(), first.uid());
    assert_eq!(parts.build().await.state, BuildState::Pushing, "it goes on where it was");
    for controller in pair {
        controller.abort();
    }
    let controller = parts.controller().await;

    let image = image("worker");
    parts.tells(&progress("Ready", 100, Some(&image), &Value::Null), "4").await;
    parts
        .reaches("what the registries lack", |build| {
            build.state == BuildState::Rerendering
                && build.step.as_ref().is_some_and(|step| step.contains("doesn't serve the image yet"))
        })
        .await;
    parts.replicates(2).await;
    let world = parts.world();
    let own = until("the MachineConfig", async || {
        world.get(CONFIGS.0, CONFIGS.1, CONFIGS.2, None, "09-ocl-osimageurl-worker").await
    });
    let own = own.await;
    assert_eq!(own["spec"]["osImageURL"], image.as_str());
    assert_eq!(own["metadata"]["labels"]["machineconfiguration.openshift.io/role"], "worker");
    let os_config = async || world.get(OS_CONFIGS.0, OS_CONFIGS.1, OS_CONFIGS.2, None, "worker").await;
    // The operator names its own build by the configuration, which has to have the image first.
    parts
        .reaches("what the pool lacks", |build| {
            build.step.as_ref().is_some_and(|step| step.contains("MachineConfigPool worker"))
        })
        .await;
    assert!(os_config().await.is_none());
    parts.render("rendered-worker-2", &image).await;
    let seeded = until("the MachineOSConfig", async || os_config().await).await;
    assert_eq!(seeded["metadata"]["annotations"][BUILT], image.as_str());
    let condition = json!({"type": "Seeded", "status": "True", "reason": "PreBuiltImageSeeded", "message": "", "lastTransitionTime": TIME});
    let status = json!({"status": {"currentImagePullSpec": image, "observedGeneration": 1, "conditions": [condition]}});
    world.patch_status(OS_CONFIGS, "worker", &status).await;
    let ready = parts.reaches("an image", |build| build.state == BuildState::Ready).await;
    assert_eq!((ready.image.as_deref(), ready.percent, ready.adopted), (Some(image.as_str()), 100, false));

    // The third node has been the bootstrap host; it gets the image too, before the build counts as taken over.
    parts.node(names[2], "master", json!({})).await;
    let key = |name: &str| format!("machineconfiguration.openshift.io/{name}");
    let annotations = json!({
        key("currentConfig"): "rendered-worker-2", key("desiredConfig"): "rendered-worker-2",
        key("currentImage"): image, key("desiredImage"): image,
    });
    parts.node(names[3], "worker", annotations).await;
    parts.replicates(3).await;
    parts.reaches("an image of the cluster's own", |build| build.adopted).await;
    let maps = Api::<ConfigMap>::namespaced(world.admin.clone(), NAMESPACE);
    until("nothing that is left", async || {
        let config = maps.get_opt("ocl-build-config").await.unwrap();
        let jobs = parts.jobs().list(&Default::default()).await.unwrap().items;
        (config.is_none() && jobs.iter().all(|job| !job.name_any().starts_with("ocl-"))).then_some(())
    })
    .await;
    controller.abort();
}
