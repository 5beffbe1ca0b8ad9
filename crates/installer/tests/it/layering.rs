//! Hosts whose first start is in an image that was built meanwhile.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Command};
use std::time::Duration;

use assisted_installer::Config;
use assisted_wire::host::HostRole;
use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::flows::site;
use crate::machine::{Machine, config};
use crate::service::{CLUSTER, HOST, Service, Site};

const LONGEST: Duration = Duration::from_secs(60);
const IMAGE: &str = "api-int.c.d.example.com:22626/ocl/os-image-master@sha256:4711";
const WORKER_IMAGE: &str = "api-int.c.d.example.com:22626/ocl/os-image-worker@sha256:4712";
const REGISTRY: &str = "quay.io/release@sha256:0815";
/// What ends the registry of a host that has built, before the room for the build is given back.
const RELEASED: &str = "podman rm --force --ignore --time=5 ocl-registry";

fn build(pool: &str, state: &str, image: Option<&str>) -> Value {
    let mut build = json!({"pool": pool, "location": "bootstrap", "state": state, "attempt": 1, "percent": 58, "step": "STEP 7/12: RUN x"});
    if let Some(image) = image {
        build["image"] = json!(image);
    }
    build
}

fn state(rollout: &str, registry: &str, builds: &[Value]) -> Value {
    json!({"enabled": true, "registry_type": registry, "registry_port": 22626, "rollout": rollout, "status": "building",
        "adopted": false, "builds": builds, "hosts": []})
}

fn failed() -> Value {
    let mut failed = build("master", "failed", None);
    failed["error"] = json!("no such package");
    failed["error_code"] = json!("build-user");
    state("Deploy", "Embedded", &[failed])
}

/// The host's own config, with what the machine config server would give it inside.
fn pointer(image: &str) -> Value {
    let file = |path: &str, text: &str| json!({"path": path, "contents": {"source": format!("data:;base64,{}", BASE64_STANDARD.encode(text))}});
    let machine_config = json!({"spec": {"osImageURL": image, "kernelArguments": ["a=b"]}}).to_string();
    let answer = json!({
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [
            file("/etc/ignition-machine-config-encapsulated.json", &machine_config),
            file("/var/lib/kubelet/config.json", r#"{"auths":{}}"#),
            file("/etc/containers/certs.d/api-int.c.d.example.com:22626/ca.crt", "pem"),
            file("/etc/ocl-registry/settings", &format!("IMAGE={REGISTRY}\nPORT=22626\nNAME=api-int.c.d.example.com\n")),
            file("/etc/other", "x"),
        ]},
    });
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(answer.to_string().as_bytes()).unwrap();
    let source = format!("data:;base64,{}", BASE64_STANDARD.encode(packed.finish().unwrap()));
    json!({"ignition": {"version": "3.2.0", "config": {"merge": [{"source": source}]}}})
}

async fn service(site: Site, state: Value, image: &str) -> Service {
    let service = Service::start(site).await;
    let mut told = service.told.lock().unwrap();
    told.layering = state;
    told.ignition = pointer(image);
    drop(told);
    service
}

async fn install(service: &Service, machine: &Machine, config: Config) -> Result<(), String> {
    let _ = service;
    machine.installer(config, LONGEST).run().await.map_err(|error| error.to_string())
}

async fn until(what: &str, come: impl Fn() -> bool) {
    let waits = async {
        while !come() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONGEST, waits).await.unwrap_or_else(|_| panic!("{what} never came"));
}

fn at(asked: &[String], begin: &str) -> usize {
    asked.iter().position(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}: {asked:#?}"))
}

#[tokio::test]
async fn a_master_lays_the_image_and_keeps_a_copy() {
    let ready = state(
        "Deploy",
        "Embedded",
        &[build("master", "ready", Some(IMAGE)), build("worker", "ready", Some(WORKER_IMAGE))],
    );
    let service = service(site(HostRole::Master), ready, IMAGE).await;
    let machine = Machine::new();
    let deployment = machine.path("mnt/root/ostree/deploy/rhcos/deploy/4711.0");
    std::fs::create_dir_all(deployment.join("etc")).unwrap();
    install(&service, &machine, config(&service.url, HostRole::Master, 3)).await.unwrap();
    let asked = machine.calls();
    let deploy = format!(
        "ostree container image deploy --sysroot /mnt --authfile /run/ocl/node-auth.json --imgref ostree-unverified-registry:{IMAGE} \
         --karg ignition.platform.id=qemu --karg $ignition_firstboot --stateroot rhcos --karg ip=dhcp --karg a=b"
    );
    let copy = format!(
        "skopeo copy --all --preserve-digests --src-authfile /run/ocl/node-auth.json --dest-tls-verify=false docker://{IMAGE} \
         docker://127.0.0.1:22627/ocl/os-image-master:{CLUSTER}"
    );
    let copy_worker =
        copy.replace(IMAGE, WORKER_IMAGE).replace("ocl/os-image-master:", "ocl/os-image-worker:");
    let order = [
        "coreos-installer install",
        "update-ca-trust",
        &deploy,
        "fsfreeze --freeze /mnt",
        "mount /dev/sda4 /mnt/root",
        "podman run --detach --name ocl-replica --net=host",
        &copy,
        &copy_worker,
        "fsfreeze --freeze /mnt/root",
        "systemd-run --on-active=8s",
    ];
    let places: Vec<_> = order.iter().map(|begin| at(&asked, begin)).collect();
    assert!(places.is_sorted(), "{places:?} {asked:#?}");
    assert!(asked.iter().any(|line| line.starts_with(&format!(
        "skopeo copy --preserve-digests --src-authfile /run/ocl/node-auth.json docker://{REGISTRY} dir:"
    ))));
    let read = |path: &str| std::fs::read_to_string(machine.path(path)).unwrap();
    assert_eq!(read("etc/containers/certs.d/api-int.c.d.example.com:22626/ca.crt"), "pem");
    assert_eq!(read("run/ocl/node-auth.json"), r#"{"auths":{}}"#);
    assert!(!machine.path("etc/other").exists());
    let wanted: Value = serde_json::from_str(&read(
        "mnt/root/ostree/deploy/rhcos/deploy/4711.0/etc/ocl-registry/wanted.json",
    ))
    .unwrap();
    assert_eq!(
        wanted["repositories"],
        json!({"ocl/os-image-master": "sha256:4711", "ocl/os-image-worker": "sha256:4712"})
    );
    let reports = service.reports();
    for report in ["Writing image to disk / Deploying OS image", "Copying registry data to disk / 100%"] {
        assert!(reports.iter().any(|told| told.starts_with(report)), "{report}: {reports:#?}");
    }
    // What it does is told beside the published stages.
    let told = service.told.lock().unwrap().builds.clone();
    let phases: Vec<_> = told.iter().map(|report| report["hosts"][0]["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["deploying", "replicating", "done"]);
    assert_eq!(told[0]["hosts"][0]["host_id"], HOST);
    // Of the build, its builder alone tells.
    assert!(told.iter().all(|report| report.get("build").is_none()), "{told:#?}");
    assert!(service.was_asked(&format!("PUT clusters/{CLUSTER}/on-cluster-layering/builds/master")));
}

/// Its list has no control plane that it could wait for: the service takes nothing else.
#[tokio::test]
async fn a_single_node_lays_its_image_in_the_stages_that_it_has() {
    let ready = state("Deploy", "Embedded", &[build("master", "ready", Some(IMAGE))]);
    let single = Site { role: HostRole::Master, bootstrap: true, masters: 1, day_two: false };
    let service = service(single, ready, IMAGE).await;
    let machine = Machine::new();
    std::fs::write(machine.path("made.ign"), pointer(IMAGE).to_string()).unwrap();
    let deployment = machine.path("mnt/root/ostree/deploy/rhcos/deploy/4711.0");
    std::fs::create_dir_all(deployment.join("etc")).unwrap();
    install(&service, &machine, config(&service.url, HostRole::Bootstrap, 1)).await.unwrap();
    assert_eq!(
        service.stages(),
        [
            "Starting installation",
            "Installing",
            "Waiting for bootkube",
            "Writing image to disk",
            "Copying registry data to disk",
            "Rebooting"
        ]
    );
    let reports = service.reports();
    assert!(reports.iter().any(|told| told == "Writing image to disk / Deploying OS image"), "{reports:#?}");
    // The registry and the room for the build are there until the copy is made, and gone before the restart.
    let asked = machine.calls();
    let order = ["cp --archive --no-target-directory ", RELEASED, "systemd-run --on-active="];
    let places = order.map(|begin| at(&asked, begin));
    assert!(places.is_sorted(), "{places:?} {asked:#?}");
}

#[tokio::test]
async fn a_master_waits_and_fails_with_the_build() {
    let service = service(
        site(HostRole::Master),
        state("Deploy", "Embedded", &[build("master", "building", None)]),
        IMAGE,
    )
    .await;
    let told = std::sync::Arc::clone(&service.told);
    let waits = async {
        let is_waiting = |told: &String| {
            told.starts_with("Writing image to disk / Waiting for the OS image of pool master")
        };
        until("the wait for the image", || service.reports().iter().any(is_waiting)).await;
        told.lock().unwrap().layering = failed();
    };
    let machine = Machine::new();
    let config = config(&service.url, HostRole::Master, 3);
    let (done, ()) = tokio::join!(install(&service, &machine, config), waits);
    assert_eq!(done.unwrap_err(), "OS image: build-user: no such package");
    assert!(service.reports().iter().any(|told| told == "Failed / OS image: build-user: no such package"));
    assert!(!machine.calls().iter().any(|line| line.starts_with("systemd-run")));
}

#[tokio::test]
async fn another_image_than_was_built_is_refused() {
    let ready = state("Deploy", "Embedded", &[build("master", "ready", Some(IMAGE))]);
    let service = service(site(HostRole::Master), ready, "quay.io/os@sha256:1").await;
    let machine = Machine::new();
    let error = install(&service, &machine, config(&service.url, HostRole::Master, 3)).await.unwrap_err();
    assert_eq!(error, format!("OS image: deploy: bootstrap served quay.io/os@sha256:1, expected {IMAGE}"));
}

#[tokio::test]
async fn an_image_that_cannot_be_laid_is_switched_to_where_it_can_be_had() {
    for (role, registry, ends_well) in [
        // Its own copy serves it.
        (HostRole::Master, "Embedded", true),
        (HostRole::Worker, "Embedded", false),
        (HostRole::Worker, "External", true),
    ] {
        let builds = [build("master", "ready", Some(IMAGE)), build("worker", "ready", Some(IMAGE))];
        let service = service(site(role), state("Deploy", registry, &builds), IMAGE).await;
        let machine = Machine::new();
        machine.fault("fail", "ostree ");
        let masters = if role == HostRole::Worker { 0 } else { 3 };
        let done = install(&service, &machine, config(&service.url, role, masters)).await;
        assert_eq!(done.is_ok(), ends_well, "{role} {registry}: {done:?}");
        let copies = machine.calls().iter().any(|line| line.starts_with("skopeo copy"));
        assert_eq!(copies, role == HostRole::Master);
        assert!(service.was_asked(&format!("PUT clusters/{CLUSTER}/on-cluster-layering/builds/{role}")));
        // Users hear of it.
        let told = service.told.lock().unwrap().builds.clone();
        let reason = told.iter().find_map(|report| {
            let host = &report["hosts"][0];
            (host["phase"] == "switching").then(|| host["info"].as_str().unwrap().to_owned())
        });
        assert_eq!(reason.is_some_and(|reason| reason.contains("ostree")), ends_well, "{told:#?}");
    }
    // Without a copy of its own there is nothing that it could boot.
    let ready = state("Deploy", "Embedded", &[build("master", "ready", Some(IMAGE))]);
    let service = service(site(HostRole::Master), ready, IMAGE).await;
    let machine = Machine::new();
    machine.fault("fail", "skopeo ");
    let error = install(&service, &machine, config(&service.url, HostRole::Master, 3)).await.unwrap_err();
    assert!(error.starts_with("OS image: registry: "), "{error}");
}

#[tokio::test]
async fn a_registry_that_a_host_does_not_reach_is_named() {
    for (role, pool) in [(HostRole::Master, "master"), (HostRole::Worker, "worker")] {
        let ready = state("Deploy", "Embedded", &[build(pool, "ready", Some(IMAGE))]);
        let service = service(site(role), ready, IMAGE).await;
        let machine = Machine::new();
        machine.fault("fail", "skopeo inspect");
        let masters = if role == HostRole::Worker { 0 } else { 3 };
        let error = install(&service, &machine, config(&service.url, role, masters)).await.unwrap_err();
        assert!(
            error.starts_with(&format!("OS image: registry: {IMAGE} can't be read on this host; ")),
            "{error}"
        );
        assert!(error.contains("6 attempts") && error.contains("skopeo"), "{error}");
        let asked = machine.calls();
        assert!(!asked.iter().any(|line| line.starts_with("ostree") || line.starts_with("skopeo copy")));
    }
}

#[tokio::test]
async fn with_switch_the_release_boots_first() {
    let ready = state("Switch", "Embedded", &[build("master", "ready", Some(IMAGE))]);
    let service = service(site(HostRole::Master), ready, IMAGE).await;
    let machine = Machine::new();
    install(&service, &machine, config(&service.url, HostRole::Master, 3)).await.unwrap();
    let asked = machine.calls();
    assert!(!asked.iter().any(|line| line.starts_with("ostree")), "{asked:#?}");
    at(&asked, "skopeo copy --all");
}

#[tokio::test]
async fn without_images_nothing_is_different() {
    let off =
        json!({"enabled": false, "registry_type": "", "rollout": "", "status": "disabled", "adopted": false});
    let service = service(site(HostRole::Master), off, IMAGE).await;
    let machine = Machine::new();
    install(&service, &machine, config(&service.url, HostRole::Master, 3)).await.unwrap();
    let asked = machine.calls();
    assert!(
        !asked.iter().any(|line| line.starts_with("skopeo") || line.starts_with("update-ca-trust")),
        "{asked:#?}"
    );
    assert!(service.told.lock().unwrap().builds.is_empty());
}

#[tokio::test]
async fn a_service_that_refuses_for_a_while_is_asked_again() {
    let ready = state("Deploy", "Embedded", &[build("master", "ready", Some(IMAGE))]);
    let service = service(site(HostRole::Master), ready, IMAGE).await;
    service.told.lock().unwrap().refusals = vec![400, 401, 403, 409, 422, 429, 500, 503];
    let machine = Machine::new();
    install(&service, &machine, config(&service.url, HostRole::Master, 3)).await.unwrap();
    let asked = machine.calls();
    at(&asked, "ostree container image deploy ");
    at(&asked, "skopeo copy --all ");
}

#[tokio::test]
async fn a_service_that_never_tells_of_image_mode_ends_the_installation() {
    let service = service(site(HostRole::Master), Value::Null, IMAGE).await;
    service.told.lock().unwrap().refusals = vec![403; 1_000];
    let machine = Machine::new();
    let error = install(&service, &machine, config(&service.url, HostRole::Master, 3)).await.unwrap_err();
    let begin = "OS image: deploy: the state of image mode could not be asked from the service: failed after 60 attempts, \
                 last error: the service answers with status 403: ";
    assert!(error.starts_with(begin) && error.contains("refused for a while"), "{error}");
    assert_eq!(service.looks(), 60);
    assert_eq!(service.reports().last(), Some(&format!("Failed / {error}")));
    // The release's own system is not what this host was to boot.
    assert!(!machine.calls().iter().any(|line| line.starts_with("coreos-installer")));
}

#[tokio::test]
async fn a_service_that_knows_no_image_mode_is_asked_once() {
    for status in [404, 405, 501] {
        let service = Service::start(site(HostRole::Master)).await;
        service.told.lock().unwrap().refusals = vec![status];
        let machine = Machine::new();
        install(&service, &machine, config(&service.url, HostRole::Master, 3)).await.unwrap();
        assert_eq!(service.looks(), 1, "{status}");
        assert!(!machine.calls().iter().any(|line| line.starts_with("ostree")), "{status}");
    }
}

#[tokio::test]
async fn a_host_that_is_added_later_gets_its_pools_image_as_well() {
    let off =
        json!({"enabled": false, "registry_type": "", "rollout": "", "status": "disabled", "adopted": false});
    // What its node trusts by a certificate of its own is opened by its node's credentials.
    for (image, is_own, auth) in [
        (WORKER_IMAGE, true, "/run/ocl/node-auth.json"),
        ("quay.io/os@sha256:1", false, "/root/.docker/config.json"),
    ] {
        let later = Site { day_two: true, ..site(HostRole::Worker) };
        let service = service(later, off.clone(), image).await;
        let machine = Machine::new();
        let skips = Config { skip_mco_reboot: true, ..config(&service.url, HostRole::Worker, 0) };
        install(&service, &machine, skips).await.unwrap();
        let asked = machine.calls();
        let deploy = format!(
            "ostree container image deploy --sysroot /mnt --authfile {auth} --imgref ostree-unverified-registry:{image} "
        );
        at(&asked, &deploy);
        assert_eq!(asked.iter().any(|line| line.starts_with("update-ca-trust")), is_own, "{image}");
        assert!(!asked.iter().any(|line| line.starts_with("skopeo")), "{asked:#?}");
        assert_eq!(service.reports().last().unwrap(), "Rebooting / ");
        assert!(service.told.lock().unwrap().builds.is_empty(), "no image of its own is built");
    }
}

/// What a builder on the machine has on disk.
fn write_status(machine: &Machine, state: &str, error: &Value) {
    let build = json!({
        "pool": "master", "state": state, "attempt": 1, "step": "STEP 7/12: RUN dnf -y install x", "percent": 58,
        "started_at": null, "updated_at": null, "rendered_machine_config": "rendered-master-1", "base_image": null,
        "image": null, "digest": null, "error": error,
    });
    let dir = machine.path("opt/openshift/ocl/state");
    std::fs::create_dir_all(&dir).unwrap();
    // Whole or not at all, as the builder does.
    std::fs::write(dir.join("new"), json!({"builds": [build]}).to_string()).unwrap();
    std::fs::rename(dir.join("new"), dir.join("status.json")).unwrap();
}

/// A process that holds the builder's lock while it lives.
struct Builder(Child);

impl Builder {
    fn start(machine: &Machine) -> Self {
        let path = machine.path("opt/openshift/ocl/state/lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        // The lock goes with the open file, which is the process's own from here on.
        let child = Command::new("sleep").arg("120").stdout(lock).spawn().unwrap();
        std::fs::write(path, child.id().to_string()).unwrap();
        Self(child)
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn what_stays_as_it_is_is_told_again_only_while_the_builder_lives() {
    let bootstrap = Site { bootstrap: true, ..site(HostRole::Master) };
    let building = state("Deploy", "Embedded", &[build("master", "building", None)]);
    let service = service(bootstrap, building, IMAGE).await;
    let machine = Machine::new();
    write_status(&machine, "Building", &Value::Null);
    let told = || service.told.lock().unwrap().builds.len();
    let story = async {
        let builder = Builder::start(&machine);
        until("what was told already", || told() > 3).await;
        drop(builder);
        // One may be on its way. Meanwhile ten more would have been due.
        let (last, looks) = (told() + 1, service.looks());
        until("time that passes", || service.looks() > looks + 30).await;
        assert!(told() <= last, "of a builder that is dead nothing is told");
        let builder = Builder::start(&machine);
        until("what another builder is at", || told() > last + 2).await;
        drop(builder);
        service.told.lock().unwrap().layering = failed();
    };
    let config = config(&service.url, HostRole::Bootstrap, 3);
    let (done, ()) = tokio::join!(install(&service, &machine, config), story);
    assert_eq!(done.unwrap_err(), "OS image: build-user: no such package");
}

#[tokio::test]
async fn what_the_builder_does_is_told_live_and_its_log_is_sent_where_it_fails() {
    let bootstrap = Site { bootstrap: true, ..site(HostRole::Master) };
    let building = state("Deploy", "Embedded", &[build("master", "building", None)]);
    let service = service(bootstrap, building, IMAGE).await;
    let machine = Machine::new();
    write_status(&machine, "Building", &Value::Null);
    // What was given to the builder, which says that there is one.
    std::fs::write(machine.path("opt/openshift/ocl/config.json"), "{}").unwrap();
    let log = machine.path("opt/openshift/ocl/state/build-master-1.log");
    std::fs::write(log, "STEP 7/12: RUN TOKEN=hunter2 dnf -y install x\nno such package\n").unwrap();
    let told = std::sync::Arc::clone(&service.told);
    let reported = |state: &str| {
        let told = told.lock().unwrap();
        told.builds.iter().map(|report| report["build"].clone()).find(|build| build["state"] == state)
    };
    let story = async {
        let text = "Waiting for control plane / Building OS image for pool master: STEP 7/12 (58%)";
        until("the step of the host", || service.reports().iter().any(|report| report == text)).await;
        until("the state of the build", || reported("building").is_some()).await;
        let build = reported("building").unwrap();
        assert_eq!(
            (&build["percent"], &build["step"], &build["host_id"], &build["location"]),
            (&json!(58), &json!("STEP 7/12: RUN dnf -y install x"), &json!(HOST), &json!("bootstrap"))
        );
        let error = json!({"code": "build-user", "reason": "no such package", "retriable": false, "state": "Building"});
        write_status(&machine, "Failed", &error);
        until("the failure of the build", || reported("failed").is_some()).await;
        let build = reported("failed").unwrap();
        assert_eq!(
            (&build["error_code"], &build["error"]),
            (&json!("build-user"), &json!("no such package"))
        );
        told.lock().unwrap().layering = failed();
    };
    let config = config(&service.url, HostRole::Bootstrap, 3);
    let (done, ()) = tokio::join!(install(&service, &machine, config), story);
    assert_eq!(done.unwrap_err(), "OS image: build-user: no such package");
    at(&machine.calls(), RELEASED);

    let sent = told.lock().unwrap().build_logs.clone();
    assert_eq!(sent.len(), 1);
    let (path, form) = &sent[0];
    assert_eq!(*path, format!("clusters/{CLUSTER}/on-cluster-layering/builds/master/logs"));
    let begin = form.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&form[begin..]));
    let mut files = std::collections::BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
        files.insert(entry.path().unwrap().display().to_string(), text);
    }
    assert!(files["ocl/build-master-1.log"].contains("no such package"), "{files:#?}");
    assert!(files.contains_key("ocl/status.json"), "{files:#?}");
    assert!(files.values().all(|text| !text.contains("hunter2")), "{files:#?}");
}
