//! Image mode, on machines of namespaces and on virtual ones: what is built while a cluster is installed, and what its nodes then start from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use assisted_lab_tools::wait::Wait;
use assisted_testkit::built;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::namespaces::{COMMAND, Cluster};
use crate::support::{output, run, text};

/// What a node tells on its console whenever it starts in its image, which alone has this.
const TELL: &str = r#"#!/bin/sh
tell() {
    target=$(grep -o 'ostree=[^ ]*' /proc/cmdline)
    echo "image nonce: $(cat /usr/ocl/nonce)"
    echo "image origin: $(sed -n 's/^container-image-reference=//p' "$(readlink -f "/sysroot${target#ostree=}").origin")"
    echo "image entries: $(ls /boot/loader/entries | tr '\n' ' ')"
    echo "image usr: $(findmnt --noheadings --output OPTIONS --target /usr | cut -d, -f1)"
    echo "image first start: $(grep -c ignition.firstboot /proc/cmdline)"
}
printf '\n%s\n' "$(tell 2>&1)" >/dev/console
"#;
const UNIT: &str =
    "[Unit]\nDescription=Tells what this system is\n[Service]\nType=oneshot\nExecStart=/usr/ocl/tell\n";

/// How long virtual machines may take without KVM, in minutes: each image is pulled, built and pushed by an emulated processor.
const SINGLE: u64 = 120;
const FOUR: u64 = 240;

/// The processes of a machine, by the number of its network.
fn processes(cluster: &Cluster, number: usize) -> Vec<String> {
    let record: Value = serde_json::from_str(&cluster.read("lab.json")).unwrap();
    let network = record["namespace"].as_str().unwrap_or_else(|| panic!("{record}"));
    let listed = run(Command::new("ip").args(["netns", "pids", &format!("{network}-{number}")]));
    String::from_utf8(listed.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

/// A process of a machine that sees a number which the machine's image has.
fn inside(cluster: &Cluster, number: usize, nonce: &str) -> Option<String> {
    processes(cluster, number).into_iter().find(|id| {
        std::fs::read_to_string(format!("/proc/{id}/root/usr/ocl/nonce"))
            .is_ok_and(|found| found.trim() == nonce)
    })
}

/// Whether what runs on a machine sees a number that its image has.
fn sees(cluster: &Cluster, number: usize, nonce: &str) -> bool {
    inside(cluster, number, nonce).is_some()
}

/// A node fetches its image, deletes it and fetches it once more, by the name that the cluster has for it. It takes the node's own credentials and
/// trust, and nothing else does.
fn pulls_again(cluster: &Cluster, number: usize, name: &str, nonce: &str, image: &str) {
    const FETCHED: &str = "var/tmp/fetched";
    let id = inside(cluster, number, nonce).unwrap();
    let fetched = cluster.dir().join(name).join("root").join(FETCHED);
    let pull = |options: &[&str]| {
        if fetched.exists() {
            std::fs::remove_dir_all(&fetched).unwrap();
        }
        let enter = ["--target", &id, "--mount", "--net", "--pid", "--"];
        let skopeo =
            ["/usr/bin/env", "-i", "HOME=/root", "/opt/computer/skopeo", "copy", "--preserve-digests"];
        let places = [format!("docker://{image}"), format!("dir:/{FETCHED}")];
        let done =
            output(Command::new("nsenter").args(enter).args(skopeo).args(options).args(places), COMMAND);
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let secret = ["--src-authfile", "/var/lib/kubelet/config.json"];
    let (_, digest) = image.split_once("@sha256:").unwrap();
    for _ in 0..2 {
        let (is_there, told) = pull(&secret);
        assert!(is_there, "{name}: {told}");
        let sum = run(Command::new("sha256sum").arg(fetched.join("manifest.json"))).stdout;
        assert!(String::from_utf8_lossy(&sum).starts_with(digest), "{name}");
    }
    let (is_there, told) = pull(&["--src-no-creds"]);
    assert!(!is_there && told.contains("unauthorized"), "{name}: {told}");
    // A folder without authorities, in place of those that the node has for this registry.
    let (is_there, told) = pull(&[&secret[..], &["--src-cert-dir", "/var/tmp"]].concat());
    assert!(!is_there && told.contains("x509"), "{name}: {told}");
}

/// How often a machine of namespaces has started, be it the discovery image or its disk: its first program says so.
fn starts(cluster: &Cluster, name: &str) -> usize {
    let console = cluster.read(&format!("{name}/console.log"));
    console.lines().filter(|line| line.contains("starts machine=")).count()
}

/// A number that nobody can have guessed, and a Containerfile that puts it into an image.
fn numbered(given: &tempfile::TempDir) -> (String, PathBuf) {
    let nonce = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap().trim().to_owned();
    let containerfile = given.path().join("Containerfile");
    let user = format!(
        "FROM configs AS final\nRUN mkdir -p /usr/ocl && echo {nonce} > /usr/ocl/nonce && ostree container commit\n"
    );
    std::fs::write(&containerfile, user).unwrap();
    (nonce, containerfile)
}

/// Image mode: the images of both pools are built by the real podman while the cluster is installed, every node's first start from its disk is in
/// its pool's image, and the cluster has taken the images over.
#[test]
fn nodes_start_in_images_that_are_built_while_they_are_installed() {
    start_in_images(&[]);
}

/// The same where the image of workers is built in the cluster, by a Job on a control plane node, as it is unless somebody asks otherwise.
#[test]
fn everything_workers_start_in_an_image_that_is_built_in_the_cluster() {
    let cluster = start_in_images(&["--workers-in-cluster"]);
    cluster.said(&["OS image of pool worker is being built (control-plane)"]);
    // What it was built by is gone.
    for kind in ["jobs", "configmaps", "secrets"] {
        let listed = run(&mut cluster.kubectl(&[
            "get",
            kind,
            "--namespace",
            "assisted-installer",
            "--output",
            "name",
        ]));
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(!listed.contains("ocl-"), "{listed}");
    }
}

fn start_in_images(more: &[&str]) -> Cluster {
    let names = ["master-0", "master-1", "master-2", "worker-0"];
    let given = tempfile::tempdir().unwrap();
    let (nonce, containerfile) = numbered(&given);
    let shape = ["--topology", "compact", "--workers", "1", "--image-mode", text(&containerfile)];
    let cluster = Cluster::install(&[&shape[..], more].concat(), &names);

    // What runs on each node sees what the build has made.
    for (number, name) in names.iter().enumerate() {
        let seen = sees(&cluster, number, &nonce);
        assert!(seen, "{name} has not started in its image\n{}", cluster.everything());
        // The discovery image, and then the disk once.
        assert_eq!(starts(&cluster, name), 2, "{name}");
    }

    for pool in ["master", "worker"] {
        let config = cluster.object(&["get", "machineosconfig", pool]);
        let image = config["status"]["currentImagePullSpec"].as_str().unwrap_or_else(|| panic!("{config}"));
        let (repository, digest) = image.split_once("@sha256:").unwrap();
        assert_eq!(repository, format!("api-int.lab.example.com:22626/ocl/os-image-{pool}"));
        assert!(
            config["metadata"]["annotations"]["machineconfiguration.openshift.io/pre-built-image"].is_null(),
            "{config}"
        );
        // A build that the cluster has not made stands for it.
        let build = config["status"]["machineOSBuild"]["name"].as_str().unwrap_or_else(|| panic!("{config}"));
        let build = cluster.object(&["get", "machineosbuild", build]);
        assert_eq!(build["status"]["digestedImagePushSpec"], image);
        assert_eq!(build["spec"]["machineOSConfig"]["name"], pool);
        assert_eq!(build["metadata"]["ownerReferences"][0]["uid"], config["metadata"]["uid"]);
        let conditions = build["status"]["conditions"].as_array().unwrap();
        assert_eq!(conditions.len(), 5, "{build}");
        for condition in conditions {
            let expected = if condition["type"] == "Succeeded" { "True" } else { "False" };
            assert_eq!(condition["status"], expected, "{condition}");
            assert_eq!(condition["reason"], "PreBuiltImageSeeded");
        }
        let state = cluster.object(&["get", "machineconfigpool", pool]);
        let rendered = state["spec"]["configuration"]["name"].as_str().unwrap();
        let rendered = cluster.object(&["get", "machineconfig", rendered]);
        assert_eq!(rendered["spec"]["osImageURL"], image);
        // Ours has gone: the operator's own says the same.
        let own = output(
            &mut cluster.kubectl(&["get", "machineconfig", &format!("09-ocl-osimageurl-{pool}")]),
            COMMAND,
        );
        let said = String::from_utf8_lossy(&own.stderr).into_owned();
        assert!(!own.status.success() && said.contains("not found"), "{pool}: {said}");
        let component =
            cluster.object(&["get", "machineconfig", &format!("10-prebuiltimage-osimageurl-{pool}")]);
        assert_eq!(component["spec"]["osImageURL"], image);
        // Each control plane node serves it, with the bytes that the digest is of, to those with credentials.
        for (number, name) in names[..3].iter().enumerate() {
            let address = format!(
                "https://192.168.126.1{number}:22626/v2/ocl/os-image-{pool}/manifests/sha256:{digest}"
            );
            let ca = cluster
                .dir
                .path()
                .join(name)
                .join("root/etc/containers/certs.d/api-int.lab.example.com:22626/ca.crt");
            let accept = "Accept: application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
            let ask = |options: &[&str]| {
                let curl = ["curl", "-s", "--cacert", text(&ca), "-H", accept];
                output(&mut cluster.exec(&[&curl[..], options, &[&address]].concat()), COMMAND).stdout
            };
            let stranger = ask(&["-o", "/dev/null", "-w", "%{http_code}"]);
            assert_eq!(String::from_utf8_lossy(&stranger), "401", "{name}");
            let secret = cluster.dir.path().join(name).join("root/var/lib/kubelet/config.json");
            let secret: Value = serde_json::from_slice(&std::fs::read(secret).unwrap()).unwrap();
            let auth = secret["auths"]["localhost:22626"]["auth"].as_str().unwrap();
            let manifest = cluster.dir.path().join("manifest");
            ask(&["-H", &format!("Authorization: Basic {auth}"), "-o", text(&manifest)]);
            let sum = run(Command::new("sha256sum").arg(&manifest)).stdout;
            assert!(
                String::from_utf8_lossy(&sum).starts_with(digest),
                "{name}: {}",
                String::from_utf8_lossy(&std::fs::read(&manifest).unwrap())
            );
        }
    }
    // The installation has waited until the cluster had taken over both.
    let program = built("assisted").unwrap();
    let shown = run(&mut cluster.exec(&[text(&program), "cluster", "show", "lab"]));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("image mode: adopted"), "{shown}");
    cluster.said(&["The cluster has taken over the OS image of pool", "cluster lab: installed 100%"]);
    for (number, name) in names.iter().enumerate() {
        let node = cluster.object(&["get", "node", name]);
        let annotation = |key: &str| {
            node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{key}")].clone()
        };
        assert_eq!(annotation("currentImage"), annotation("desiredImage"));
        let pool = if number < 3 { "master" } else { "worker" };
        assert!(
            annotation("currentImage").as_str().unwrap().contains(&format!("/ocl/os-image-{pool}@sha256:")),
            "{node}"
        );
        // The release's own system stays as the second entry.
        assert!(cluster.dir.path().join(name).join("partitions/boot/loader/entries/ostree-1.conf").is_file());
        // Nothing that hosts are configured with has it: it came by the image.
        let config = cluster.read(&format!("{name}/ignition/cache.json"));
        assert!(!config.is_empty() && !config.contains(&nonce), "{name}");
    }
    // The bootstrap host has restarted, and its registry is gone: those of the control plane have the image.
    let config = cluster.object(&["get", "machineosconfig", "worker"]);
    let image = config["status"]["currentImagePullSpec"].as_str().unwrap();
    pulls_again(&cluster, 3, names[3], &nonce, image);
    rolls_out_later_configs(&cluster, &names);
    cluster
}

/// A MachineConfig that comes later reaches each node in the image that it has, without a build, since the secret that the MachineOSConfig pushes
/// with opens the registry as well: while it does not, nothing is rolled out.
fn rolls_out_later_configs(cluster: &Cluster, names: &[&str]) {
    const NAMESPACE: &str = "openshift-machine-config-operator";
    const POOLS: [&str; 2] = ["master", "worker"];
    /// So long the operator has the time to do what it must not.
    const STAYS: Duration = Duration::from_secs(15);
    let secret = cluster.object(&["--namespace", NAMESPACE, "get", "secret", "os-image-push"]);
    let opens = secret["data"][".dockerconfigjson"].as_str().unwrap().to_owned();
    let push_with = |credentials: &str| {
        let patch = json!({"data": {".dockerconfigjson": credentials}}).to_string();
        let words = ["--namespace", NAMESPACE, "patch", "secret", "os-image-push", "--type", "merge"];
        run(&mut cluster.kubectl(&[&words[..], &["--patch", &patch]].concat()));
    };
    let pool_has = |pool: &str| -> String {
        let state = cluster.object(&["get", "machineconfigpool", pool]);
        state["spec"]["configuration"]["name"].as_str().unwrap().to_owned()
    };
    let image_of =
        |config: &str| cluster.object(&["get", "machineconfig", config])["spec"]["osImageURL"].clone();
    let before = POOLS.map(pool_has);
    push_with(&STANDARD.encode(r#"{"auths":{}}"#));
    let configs = POOLS.map(|pool| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": format!("99-later-{pool}"), "labels": {"machineconfiguration.openshift.io/role": pool}},
            "spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": [
                {"path": "/etc/later", "mode": 420, "contents": {"source": format!("data:,{pool}")}},
            ]}}},
        })
    });
    let file = cluster.dir().join("later.json");
    std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": configs}).to_string()).unwrap();
    run(&mut cluster.kubectl(&["apply", "--filename", text(&file)]));
    std::thread::sleep(STAYS);
    assert_eq!(POOLS.map(pool_has), before);

    push_with(&opens);
    for (number, name) in names.iter().enumerate() {
        let (pool, old) = if number < 3 { (POOLS[0], &before[0]) } else { (POOLS[1], &before[1]) };
        let later = cluster.dir().join(name).join("root/etc/later");
        let mut wait = Wait::new("the later configuration", later.display(), COMMAND);
        let node = loop {
            let node = cluster.object(&["get", "node", name]);
            let current = &node["metadata"]["annotations"]["machineconfiguration.openshift.io/currentConfig"];
            if current != old.as_str() {
                break node;
            }
            wait.pause(Duration::from_secs(1)).unwrap();
        };
        let current = &node["metadata"]["annotations"]["machineconfiguration.openshift.io/currentConfig"];
        assert_eq!(*current, pool_has(pool), "{name}");
        assert_eq!(std::fs::read_to_string(&later).unwrap(), pool, "{name}");
        // In the image that it had, and without another start.
        assert_eq!(image_of(old), image_of(current.as_str().unwrap()), "{name}");
        let image = &node["metadata"]["annotations"]["machineconfiguration.openshift.io/currentImage"];
        assert_eq!(*image, image_of(old), "{name}");
        assert_eq!(starts(cluster, name), 2, "{name}");
    }
    // The builds that stand for what came with the installation are all that there are.
    let builds = cluster.object(&["get", "machineosbuilds"]);
    assert_eq!(builds["items"].as_array().unwrap().len(), POOLS.len(), "{builds}");
}

/// With `rollout: Switch` nodes start in the release's system, fetch their image from the registry on their own disk, and start once more: in it.
#[test]
fn everything_nodes_that_switch_start_twice_from_their_disks() {
    let names = ["master-0", "master-1", "master-2"];
    let given = tempfile::tempdir().unwrap();
    let (nonce, containerfile) = numbered(&given);
    let shape = ["--topology", "compact", "--switch", "--image-mode", text(&containerfile)];
    let cluster = Cluster::install(&shape, &names);
    cluster.said(&["The cluster has taken over the OS image of pool", "cluster lab: installed 100%"]);
    let image = image_of(&cluster, "master");
    for (number, name) in names.iter().enumerate() {
        has_switched(&cluster, number, name, &nonce, &image);
    }
}

/// The image that the cluster has for a pool, by its digest.
fn image_of(cluster: &Cluster, pool: &str) -> String {
    let config = cluster.object(&["get", "machineosconfig", pool]);
    let image = config["status"]["currentImagePullSpec"].as_str().unwrap_or_else(|| panic!("{config}"));
    image.to_owned()
}

/// A node has started in the release's system first, and is in its pool's image now.
fn has_switched(cluster: &Cluster, number: usize, name: &str, nonce: &str, image: &str) {
    let (_, digest) = image.split_once("@sha256:").unwrap();
    assert!(sees(cluster, number, nonce), "{name} has not started in its image\n{}", cluster.everything());
    // The discovery image, and then the disk twice.
    assert_eq!(starts(cluster, name), 3, "{name}\n{}", cluster.everything());
    let dir = cluster.dir().join(name);
    let boot = dir.join("partitions/boot/loader");
    assert_eq!(std::fs::read_to_string(boot.join("default")).unwrap(), format!("{digest}.0"), "{name}");
    // The release's own system stays as the second entry, and whoever switches has nothing more to do.
    assert!(boot.join("entries/ostree-1.conf").is_file(), "{name}");
    let told = dir.join("root/etc/ignition-machine-config-encapsulated.json");
    assert!(!told.exists() && told.with_extension("json.done").is_file(), "{name}");
    let node = cluster.object(&["get", "node", name]);
    for key in ["currentImage", "desiredImage"] {
        let of_node = &node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{key}")];
        assert_eq!(of_node, image, "{name}: {key}");
    }
}

/// The images are pushed to a registry outside of the cluster, with TLS and a password: workers can switch as well then. The service and the
/// bootstrap host have tried before the build whether it takes an upload, and nodes fetch their images from there.
#[test]
fn everything_nodes_switch_to_images_of_an_external_registry() {
    const REGISTRY: &str = "192.168.126.1:5443";
    let nodes = [
        ("master-0", "192.168.126.10"),
        ("master-1", "192.168.126.11"),
        ("master-2", "192.168.126.12"),
        ("worker-0", "192.168.126.20"),
    ];
    let given = tempfile::tempdir().unwrap();
    let (nonce, containerfile) = numbered(&given);
    let shape = ["--topology", "compact", "--workers", "1", "--switch", "--external-registry"];
    let shape = [&shape[..], &["--image-mode", text(&containerfile)]].concat();
    let cluster = Cluster::install(&shape, &nodes.map(|(name, _)| name));
    cluster.said(&["The cluster has taken over the OS image of pool", "cluster lab: installed 100%"]);

    let kept = cluster.dir().join("image-registry");
    let log = cluster.read("image-registry/registry.log");
    let by_service = |line: &str| line.starts_with("192.168.126.1 ");
    for pool in ["master", "worker"] {
        let image = image_of(&cluster, pool);
        let (repository, digest) = image.split_once('@').unwrap();
        assert_eq!(repository, format!("{REGISTRY}/lab/os-{pool}"));
        let bytes = assisted_lab_tools::blob(&kept.join("images"), digest).unwrap();
        let sum = run(Command::new("sha256sum").arg(bytes)).stdout;
        assert!(String::from_utf8_lossy(&sum).starts_with(digest.trim_start_matches("sha256:")), "{pool}");
        let tried = format!("\"DELETE /v2/lab/os-{pool}/blobs/uploads/");
        assert!(log.lines().any(|line| by_service(line) && line.contains(&tried)), "{pool}: {log}");
        let first = |request: &str| {
            let found = log.lines().position(|line| !by_service(line) && line.contains(request));
            found.unwrap_or_else(|| panic!("no {request} among\n{log}"))
        };
        let pushed = first(&format!("\"PUT /v2/lab/os-{pool}/manifests/"));
        assert!(first(&tried) < pushed, "{pool}: {log}");
        let fetched = format!("\"GET /v2/lab/os-{pool}/manifests/{digest} ");
        for (number, (name, address)) in nodes.iter().enumerate() {
            if !name.starts_with(pool) {
                continue;
            }
            has_switched(&cluster, number, name, &nonce, &image);
            let from_it = format!("{address} ");
            let has_fetched = log.lines().any(|line| line.starts_with(&from_it) && line.contains(&fetched));
            assert!(has_fetched, "{name}: {log}");
            // It has no registry of its own.
            assert!(!cluster.dir().join(name).join("root/etc/ocl-registry").exists(), "{name}");
        }
    }
    // Whoever has no password gets nothing, and whoever does not know its authority does not trust it.
    let ask = |options: &[&str]| {
        let curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"];
        let url = format!("https://{REGISTRY}/v2/");
        let told = output(&mut cluster.exec(&[&curl[..], options, &[&url]].concat()), COMMAND);
        (String::from_utf8_lossy(&told.stdout).into_owned(), told.status.code())
    };
    assert_eq!(ask(&["--cacert", text(&kept.join("ca.pem"))]), ("401".to_owned(), Some(0)));
    assert_eq!(ask(&[]).1, Some(60));
}

/// A step of the Containerfile fails: the cluster is in error with the reason, the log of the build has it and no secret, and once the cluster was
/// reset and has another Containerfile it is installed.
#[test]
fn everything_a_step_that_fails_ends_the_installation_and_the_next_one_succeeds() {
    let names = ["master-0", "master-1", "master-2"];
    let given = tempfile::tempdir().unwrap();
    let containerfile = given.path().join("Containerfile");
    std::fs::write(
        &containerfile,
        "FROM configs AS final\nRUN mkdir -p /usr/ocl && ostree container commit\n",
    )
    .unwrap();
    let shape = ["--topology", "compact", "--image-mode", text(&containerfile), "--fault", "image-step"];
    let cluster = Cluster::install(&shape, &names);
    cluster.said(&[
        "cluster lab: error",
        "OS image build failed for pool master: the build ended with exit status",
        "image mode: failed",
        "saved os-image-logs-build-user.tar.gz",
        "assisted cluster reset lab",
        "The machines boot the discovery image again",
        "The installation, once more",
        "cluster lab: installed 100%",
    ]);
    let logs = logs(&cluster, "build-user");
    let (log, user) = (&logs["ocl/build-master-1.log"], &logs["ocl/Containerfile.master"]);
    assert!(log.contains("no such package"), "{log}");
    assert!(user.contains("exit 7"), "{user}");
    // Nothing of it is left that would be in the way.
    let program = built("assisted").unwrap();
    let shown = run(&mut cluster.exec(&[text(&program), "cluster", "show", "lab"]));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("image mode: adopted"), "{shown}");
}

/// The Containerfile asks for an image that is not there: that is found before anything is built, and ends the installation as a step does.
#[test]
fn everything_an_image_that_is_not_there_ends_the_installation_and_the_next_one_succeeds() {
    let names = ["master-0", "master-1", "master-2"];
    let given = tempfile::tempdir().unwrap();
    let (nonce, containerfile) = numbered(&given);
    let shape = ["--topology", "compact", "--image-mode", text(&containerfile), "--fault", "image-base"];
    let cluster = Cluster::install(&shape, &names);
    cluster.said(&[
        "cluster lab: error",
        "OS image build failed for pool master: 192.168.126.1:5000/lab/missing:1",
        "image mode: failed",
        "assisted cluster reset lab",
        "The installation, once more",
        "cluster lab: installed 100%",
    ]);
    for (number, name) in names.iter().enumerate() {
        assert!(sees(&cluster, number, &nonce), "{name}\n{}", cluster.everything());
    }
}

/// The files that the service has of the build that failed with a code, by their names. None has a secret.
fn logs(cluster: &Cluster, code: &str) -> BTreeMap<String, String> {
    let archive = cluster.dir().join(format!("os-image-logs-{code}.tar.gz"));
    let told = |options: &[&str]| {
        let told = run(Command::new("tar").arg(options[0]).arg(&archive).args(&options[1..])).stdout;
        String::from_utf8_lossy(&told).into_owned()
    };
    let names = told(&["-tzf"]);
    let files: BTreeMap<_, _> = names.lines().map(|name| (name.to_owned(), told(&["-xzOf", name]))).collect();
    for (name, file) in &files {
        assert!(!file.contains("hunter2"), "{code}: {name}: {file}");
    }
    files
}

/// A way to fail: what is told of it, and what a file of the build's logs says, where they are sent.
struct Failure {
    fault: &'static str,
    code: &'static str,
    told: &'static str,
    logs: Option<(&'static str, &'static str)>,
}

/// What was built, where that is told by the log of the build.
const BUILT: Option<(&str, &str)> = Some(("ocl/build-master-1.log", "STEP 1/"));
/// What was to be built, where nothing was.
const ASKED: Option<(&str, &str)> = Some(("ocl/mosc-master.yaml", "FROM configs AS final"));

/// One installation after the other fails, each by a fault of its own; the cluster is reset each time, and the last installation succeeds: its nodes
/// are in the image that was built then.
fn end_one_after_another(failures: &[Failure], minutes: u64) {
    let names = ["master-0", "master-1", "master-2"];
    let given = tempfile::tempdir().unwrap();
    let (nonce, containerfile) = numbered(&given);
    let user = std::fs::read_to_string(&containerfile).unwrap().replace("RUN ", "RUN TOKEN=hunter2; ");
    std::fs::write(&containerfile, user).unwrap();
    let mut shape = vec!["--namespaces", "--topology", "compact", "--image-mode", text(&containerfile)];
    shape.extend(failures.iter().flat_map(|failure| ["--fault", failure.fault]));
    let cluster = Cluster::of_machines(&shape, &names, minutes);
    let mut order = Vec::new();
    for failure in failures {
        order.extend([
            "cluster lab: error",
            failure.told,
            "assisted cluster reset lab",
            "The installation, once more",
        ]);
    }
    order.push("cluster lab: installed 100%");
    cluster.said(&order);
    cluster.all_was_taken();
    for Failure { code, logs: wanted, .. } in failures {
        let Some((name, told)) = wanted else { continue };
        let files = logs(&cluster, code);
        let file =
            files.get(*name).unwrap_or_else(|| panic!("{code}: {name} is not among {:?}", files.keys()));
        assert!(file.contains(told), "{code}: {name}: {file}");
        if *wanted == BUILT {
            assert!(files["ocl/Containerfile.master"].contains(&nonce), "{code}: {files:?}");
        }
    }
    for (number, name) in names.iter().enumerate() {
        assert!(sees(&cluster, number, &nonce), "{name}\n{}", cluster.everything());
    }
    let program = built("assisted").unwrap();
    let shown = run(&mut cluster.exec(&[text(&program), "cluster", "show", "lab"]));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("image mode: adopted"), "{shown}");
}

/// What fails before there is an image, or when it is to be had: each ends an installation with its code and its reason.
#[test]
fn everything_each_failure_of_a_build_ends_an_installation_and_the_last_one_succeeds() {
    let failures = [
        Failure {
            fault: "image-render",
            code: "render",
            told: "OS image: render: the configuration can't be rendered",
            logs: Some(("ocl/pass1.log", "99-unreadable")),
        },
        Failure { fault: "image-scratch", code: "scratch", told: "OS image: scratch: ", logs: ASKED },
        Failure {
            fault: "image-registry",
            code: "registry",
            told: "OS image: registry: the registry on port 22626 doesn't answer",
            logs: ASKED,
        },
        Failure { fault: "image-pull", code: "pull", told: "OS image: pull: ", logs: ASKED },
        Failure {
            fault: "image-room",
            code: "build-infra",
            told: "OS image: build-infra: the build ended with exit status",
            logs: BUILT,
        },
        Failure {
            fault: "image-push",
            code: "push",
            told: "OS image: push: the image can't be pushed to 127.0.0.1:22627/ocl/os-image-master",
            logs: BUILT,
        },
        Failure { fault: "image-verify", code: "verify", told: "OS image: verify: ", logs: BUILT },
    ];
    end_one_after_another(&failures, 60);
}

/// What is known by its time alone: a build that does not end within what it was given, and a builder of which the service hears nothing for ten
/// minutes.
#[test]
fn everything_a_build_that_is_late_or_lost_ends_an_installation_and_the_next_one_succeeds() {
    let failures = [
        Failure {
            fault: "image-timeout",
            code: "timeout",
            told: "OS image: timeout: the build took longer than 15 minutes",
            logs: BUILT,
        },
        Failure {
            fault: "image-lost",
            code: "lost",
            told: "OS image: lost: its builder has reported nothing for 10 minutes",
            logs: None,
        },
    ];
    end_one_after_another(&failures, 60);
}

/// What fails once the image is there: on the disk of a node, and in the cluster, whose nodes are to boot another one.
#[test]
fn everything_each_failure_of_nodes_ends_an_installation_and_the_last_one_succeeds() {
    let failures = [
        Failure { fault: "image-deploy", code: "deploy", told: "OS image: deploy: ", logs: BUILT },
        Failure {
            fault: "image-boot",
            code: "boot",
            told: "OS image build failed for pool master (boot): node master-",
            logs: BUILT,
        },
    ];
    end_one_after_another(&failures, 40);
}

/// A single node on a virtual machine: what it first starts from its disk is the image that was built while it was installed, deployed by ostree.
#[test]
fn everything_ostree_a_single_node_starts_in_its_image() {
    start_by_ostree(&["--topology", "sno"], &["master-0"], SINGLE);
}

/// The same of three masters and a worker, with an image for each pool.
#[test]
fn everything_ostree_masters_and_a_worker_start_in_their_images() {
    let names = ["master-0", "master-1", "master-2", "worker-0"];
    start_by_ostree(&["--topology", "compact", "--workers", "1"], &names, FOUR);
}

fn start_by_ostree(shape: &[&str], names: &[&str], minutes: u64) {
    // Nobody can have guessed it.
    let nonce = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap().trim().to_owned();
    let given = tempfile::tempdir().unwrap();
    let containerfile = given.path().join("Containerfile");
    let (units, wanted) = ("/usr/lib/systemd/system", "multi-user.target.wants");
    let user = format!(
        "FROM configs AS final\nRUN mkdir -p /usr/ocl {units}/{wanted} && echo {nonce} > /usr/ocl/nonce && \
         echo {} | base64 -d > /usr/ocl/tell && chmod 755 /usr/ocl/tell && echo {} | base64 -d > {units}/ocl-tell.service && \
         ln -s ../ocl-tell.service {units}/{wanted}/ocl-tell.service && ostree container commit\n",
        STANDARD.encode(TELL),
        STANDARD.encode(UNIT),
    );
    std::fs::write(&containerfile, user).unwrap();
    let options = [shape, &["--image-mode", text(&containerfile)]].concat();
    let cluster = Cluster::of_machines(&options, names, minutes);
    cluster.said(&["The cluster has taken over the OS image of pool", "cluster lab: installed 100%"]);
    let program = built("assisted").unwrap();
    let shown = run(&mut cluster.exec(&[text(&program), "cluster", "show", "lab"]));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("image mode: adopted"), "{shown}");

    for name in names {
        let pool = if name.starts_with("master") { "master" } else { "worker" };
        let config = cluster.object(&["get", "machineosconfig", pool]);
        let image = config["status"]["currentImagePullSpec"].as_str().unwrap_or_else(|| panic!("{config}"));
        let node = cluster.object(&["get", "node", name]);
        for key in ["currentImage", "desiredImage"] {
            let of_node =
                &node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{key}")];
            assert_eq!(of_node, image, "{name}: {key}");
        }
        let console = cluster.read(&format!("{name}/console.log"));
        let told = |what: &str| -> Vec<String> {
            let begin = format!("image {what}: ");
            console
                .lines()
                .filter_map(|line| line.strip_prefix(&begin))
                .map(|rest| rest.trim().to_owned())
                .collect()
        };
        // One start from the disk, the first of all, and it was in the image.
        for (what, expected) in [
            ("nonce", nonce.as_str()),
            ("origin", &format!("ostree-unverified-registry:{image}")),
            ("usr", "ro"),
            ("first start", "1"),
            // The release's own system stays as the second entry.
            ("entries", "ostree-1-rhcos.conf ostree-2-rhcos.conf"),
        ] {
            assert_eq!(told(what), [expected], "{name}: {what}\n{}", cluster.everything());
        }
    }

    // Each control plane node serves the pool's image, the bootstrap host's own registry being gone.
    let secret = cluster.object(&["--namespace", "openshift-config", "get", "secret", "pull-secret"]);
    let secret = STANDARD.decode(secret["data"][".dockerconfigjson"].as_str().unwrap()).unwrap();
    let secret: Value = serde_json::from_slice(&secret).unwrap();
    let auth = secret["auths"]["localhost:22626"]["auth"].as_str().unwrap();
    let config = cluster.object(&["get", "machineosconfig", "master"]);
    let image = config["status"]["currentImagePullSpec"].as_str().unwrap();
    let (_, digest) = image.split_once("@sha256:").unwrap();
    for number in 0..names.iter().filter(|name| name.starts_with("master")).count() {
        let address =
            format!("https://192.168.126.1{number}:22626/v2/ocl/os-image-master/manifests/sha256:{digest}");
        let accept = "Accept: application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
        let (manifest, auth) = (cluster.dir().join("manifest"), format!("Authorization: Basic {auth}"));
        // Whose certificate it is does not count here: the bytes are held against the digest.
        let curl = ["curl", "-sk", "-H", accept];
        let unknown = ["-o", "/dev/null", "-w", "%{http_code}", &address];
        let stranger = output(&mut cluster.exec(&[&curl[..], &unknown].concat()), COMMAND).stdout;
        assert_eq!(String::from_utf8_lossy(&stranger), "401", "master-{number}");
        run(&mut cluster.exec(&[&curl[..], &["-f", "-H", &auth, "-o", text(&manifest), &address]].concat()));
        let sum = run(Command::new("sha256sum").arg(&manifest)).stdout;
        assert!(String::from_utf8_lossy(&sum).starts_with(digest), "master-{number}");
    }
}
