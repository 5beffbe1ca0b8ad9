//! Images pushed into a real registry, and run from there by a real podman on a machine that is no more than namespaces.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assisted_package::image::{Inputs, Kind};
use assisted_package::publish::{Access, publish};
use assisted_package::release::lists;
use assisted_package::signature::Signer;
use assisted_testkit::{Access as Open, Auth, DockerRegistry, PodmanHost, Port};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{MACHINE, crates, inputs, key, libraries, root, run};

/// How long a machine may take for a script.
const LIMIT: Duration = Duration::from_secs(240);

/// A registry with images in it, and a machine that pulls from it.
pub struct World {
    pub registry: DockerRegistry,
    pub dir: TempDir,
    pub inputs: Inputs,
    pub signer: Signer,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["registry", "libraries"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let registry = DockerRegistry::start(&dir.path().join("registry"), &Open::default()).unwrap();
        libraries(&dir.path().join("libraries"));
        let mut inputs = inputs(&registry.name(), &dir.path().join("libraries"));
        // Any static program will do: whether it is OpenShift's client is not for the image to say.
        inputs.oc = BTreeMap::from([(MACHINE.to_owned(), "/bin/bash-static".into())]);
        let signer = Signer::from_pem(&fs::read_to_string(key(dir.path(), "key")).unwrap().into()).unwrap();
        Self { registry, dir, inputs, signer }
    }

    pub async fn push(&self, kind: Kind) -> String {
        let (index, name) = (self.inputs.build(kind).unwrap(), self.inputs.name(kind));
        let lists = lists(&self.inputs, kind, &crates()).unwrap();
        publish(&index, &name, &lists, Some(&self.signer), &Access::default()).await.unwrap();
        name
    }

    pub fn host(&self) -> PodmanHost {
        PodmanHost::new(&self.registry.name()).unwrap()
    }

    /// What the registry answers.
    pub async fn ask(&self, path: &str) -> Vec<u8> {
        let url = format!("http://{}/v2/assisted/{path}", self.registry.name());
        let accept = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json";
        let answer = reqwest::Client::new().get(url).header("accept", accept).send().await.unwrap();
        answer.error_for_status().unwrap().bytes().await.unwrap().to_vec()
    }

    pub async fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.ask(path).await).unwrap()
    }
}

/// How unprivileged containers are run here: groups that limit devices, and networks of their own, take rights that a test may not have.
pub const RUN: &str = "podman run --cgroups=disabled --net=host";

/// Runs a script to its end; what it wrote.
pub fn output_of(host: &PodmanHost, script: &str) -> String {
    let (done, told) = host.run(&format!("set -ex\n{script}"), LIMIT).unwrap();
    assert!(done, "{told}");
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_and_installer_run_from_a_registry() {
    let world = World::new();
    let (agent, installer) = (world.push(Kind::Agent).await, world.push(Kind::Installer).await);
    let host = world.host();
    // The agent is taken out of its image as units of discovery images do it; what is left is a program that needs nothing.
    let told = output_of(
        &host,
        &format!(
            "podman run --privileged --net=host --rm -v /usr/local/bin:/hostbin {agent} cp /usr/bin/agent /hostbin\n\
             /usr/local/bin/agent --help | grep -q PULL_SECRET_TOKEN\n\
             {RUN} --rm {agent} inventory --help | grep -qi inventory\n\
             {RUN} --rm {installer} --help | grep -q boot-device\n\
             podman run --privileged --net=host --pid=host --rm --entrypoint /usr/bin/nsenter {installer} \
             --target 1 --mount --ipc -- sh -c 'echo on $(cat /proc/sys/kernel/hostname); test -x /usr/bin/podman && echo there'\n\
             podman image inspect --format '{{{{.Labels.git_revision}}}}' {agent}\n"
        ),
    );
    for expected in ["\nthere\n", "\n0123456789abcdef\n"] {
        assert!(told.contains(expected), "{told}");
    }
    let index = world.inputs.build(Kind::Agent).unwrap();
    what_is_in_it_is_attached(&world, "agent", &index.images[0].manifest.digest).await;
    for digest in [&index.manifest.digest, &index.images[0].manifest.digest] {
        its_signature_is_good(&world, "agent", digest).await;
    }
}

/// What is in an image is found by its digest.
pub async fn what_is_in_it_is_attached(world: &World, image: &str, digest: &str) {
    let list = world.json(&format!("{image}/manifests/{}", digest.replace(':', "-"))).await;
    assert_eq!(list["manifests"][0]["artifactType"], "application/spdx+json");
    let of = |value: &Value| value.as_str().unwrap().to_owned();
    let manifest = world.json(&format!("{image}/manifests/{}", of(&list["manifests"][0]["digest"]))).await;
    assert_eq!(manifest["subject"]["digest"], digest);
    let list = world.json(&format!("{image}/blobs/{}", of(&manifest["layers"][0]["digest"]))).await;
    assert_eq!(list["spdxVersion"], "SPDX-2.3");
}

/// A signature is where cosign looks for it, is of this image under this name, and is one to openssl.
pub async fn its_signature_is_good(world: &World, image: &str, digest: &str) {
    let manifest = world.json(&format!("{image}/manifests/{}.sig", digest.replace(':', "-"))).await;
    let layer = &manifest["layers"][0];
    assert_eq!(layer["mediaType"], "application/vnd.dev.cosign.simplesigning.v1+json");
    let signed = world.ask(&format!("{image}/blobs/{}", layer["digest"].as_str().unwrap())).await;
    let told: Value = serde_json::from_slice(&signed).unwrap();
    assert_eq!(told["critical"]["image"]["docker-manifest-digest"], digest);
    let name = format!("{}/assisted/{image}", world.registry.name());
    assert_eq!(told["critical"]["identity"]["docker-reference"], name.as_str());
    let at = |name: &str| world.dir.path().join(name);
    fs::write(at("signed"), signed).unwrap();
    fs::write(at("base64"), layer["annotations"]["dev.cosignproject.cosign/signature"].as_str().unwrap())
        .unwrap();
    fs::write(at("pub"), world.signer.public_pem().unwrap()).unwrap();
    run(Command::new("openssl")
        .args(["base64", "-A", "-d", "-in"])
        .arg(at("base64"))
        .arg("-out")
        .arg(at("der")));
    let mut openssl = Command::new("openssl");
    openssl.args(["dgst", "-sha256", "-verify"]).arg(at("pub")).arg("-signature").arg(at("der"));
    run(openssl.arg(at("signed")));
}

/// Waits on a machine until a service answers.
fn until_it_answers(port: u16, log: &str) -> String {
    format!(
        "n=0; until curl -sf http://127.0.0.1:{port}/ready; do n=$((n+1)); test $n -lt 300 || {{ {log}; exit 1; }}; sleep 0.2; done\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn service_and_controller_run_from_a_registry() {
    let world = World::new();
    let (service, controller) = (world.push(Kind::Service).await, world.push(Kind::Controller).await);
    let host = world.host();
    let (port, _port) = free();
    let wait = until_it_answers(port, "podman logs s");
    let told = output_of(
        &host,
        &format!(
            "{RUN} --name s -d --read-only --cap-drop all --tmpfs /tmp -v data:/data -e AUTH_TYPE=users \
             -e ASSISTED_LISTEN=127.0.0.1:{port} {service}\n{wait}\
             podman exec s assisted --version\npodman exec s assisted config explain INSTALLER_IMAGE CONTROLLER_IMAGE\n\
             cat $(podman mount s)/commit-reference.txt; podman unmount s > /dev/null\n\
             podman stop -t 20 s\n\
             {RUN} --rm {service} /assisted-service-operator --help | head -1\n\
             {RUN} --rm {service} /assisted-image-service --help | head -1\n\
             {RUN} --rm {controller} > /tmp/controller 2>&1 && exit 1; grep CLUSTER_ID /tmp/controller\n\
             {RUN} --rm --entrypoint /usr/bin/bash {controller} -ex -c 'oc -c \"echo client\"; date -u +%Y; echo aGFsbG8= | base64 -d; \
             tar --help 2>&1 | head -1'\n"
        ),
    );
    for expected in [
        format!("assisted {}", env!("CARGO_PKG_VERSION")),
        format!("{}/assisted/installer:1", world.registry.name()),
        format!("{}/assisted/controller:1", world.registry.name()),
        "\n0123456789abcdef\n".to_owned(),
        "\nclient\n".to_owned(),
        "\nhallo".to_owned(),
    ] {
        assert!(told.contains(&expected), "{expected}: {told}");
    }
}

/// A port for a service on the machine, which shares this one's network.
fn free() -> (u16, Port) {
    let port = Port::free().unwrap();
    (port.number, port)
}

/// Has crun leave out control groups: those limit devices, which takes rights that a test may not have. All else of a container is made.
fn without_groups(host: &PodmanHost) {
    write(
        &host.dir().join("bin"),
        "crun",
        "#!/bin/sh\nexec /usr/bin/crun --cgroup-manager=disabled \"$@\"\n",
    );
    fs::set_permissions(host.dir().join("bin/crun"), fs::Permissions::from_mode(0o755)).unwrap();
    let conf = host.dir().join("containers/containers.conf");
    let told = fs::read_to_string(&conf).unwrap();
    let engine = "[engine]\ncgroup_manager = \"cgroupfs\"\nruntime = \"crun\"\n[engine.runtimes]\ncrun = [\"/usr/local/bin/crun\"]\n";
    fs::write(conf, told + engine).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn podman_plays_the_pod() {
    let world = World::new();
    let service = world.push(Kind::Service).await;
    let host = world.host();
    without_groups(&host);
    let (port, _port) = free();
    let pod = fs::read_to_string(root("deploy/podman/assisted.kube.yaml")).unwrap();
    // This machine's network is that of other tests, too.
    let command = "up, --data-dir, /data";
    assert!(pod.contains(command), "{pod}");
    let elsewhere =
        format!("{command}, --address, 127.0.0.1, --port, \"{port}\", --image-listen, \"127.0.0.1:0\"");
    let pod = pod.replace(&Kind::Service.default_name(), &service).replace(command, &elsewhere);
    write(&host.dir().join("bin"), "assisted.kube.yaml", &pod);
    let wait = until_it_answers(port, "podman logs assisted-service");
    let told = output_of(
        &host,
        &format!(
            "play=/usr/local/bin/assisted.kube.yaml\n\
             podman kube play $play\n{wait}\
             podman container inspect assisted-service > /usr/local/bin/made.json\n\
             podman exec assisted-service assisted --version\n\
             podman logs assisted-service 2>&1 | grep -q setup=\n\
             data=$(podman volume inspect --format '{{{{.Mountpoint}}}}' assisted-data)/assisted.db\nbefore=$(stat -c %i $data)\n\
             podman kube down $play\npodman volume exists assisted-data && echo kept\n\
             podman kube play $play\n{wait}test $before = $(stat -c %i $data)\npodman kube down $play\n"
        ),
    );
    assert!(told.contains(&format!("assisted {}\n", env!("CARGO_PKG_VERSION"))), "{told}");
    assert!(told.contains("\nkept\n"), "{told}");
    let made = fs::read(host.dir().join("bin/made.json")).unwrap();
    let made = &serde_json::from_slice::<Value>(&made).unwrap()[0];
    assert_eq!((&made["ImageName"], &made["State"]["Running"]), (&json!(service), &json!(true)));
    assert_eq!(
        (&made["Mounts"][0]["Name"], &made["Mounts"][0]["Destination"]),
        (&json!("assisted-data"), &json!("/data"))
    );
    assert!(made["BoundingCaps"].as_array().is_none_or(Vec::is_empty), "{}", made["BoundingCaps"]);
}

fn write(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_told_who_pushes() {
    let dir = tempfile::tempdir().unwrap();
    let registry = DockerRegistry::start(dir.path(), &Open { auth: Auth::Basic, ..Open::default() }).unwrap();
    let inputs = inputs(&registry.name(), dir.path());
    let (index, name) = (inputs.build(Kind::Agent).unwrap(), inputs.name(Kind::Agent));
    let push = async |access: &Access| publish(&index, &name, &[], None, access).await;
    let error = format!("{:#}", push(&Access::default()).await.err().unwrap());
    assert!(error.contains("status 401"), "{error}");
    let auth_file = dir.path().join("auth.json");
    // user:password of the registry's tests, as `podman login` keeps it.
    let auths = json!({"auths": {registry.name(): {"auth": "cmVhZGVyOmh1bnRlcjI="}}});
    fs::write(&auth_file, auths.to_string()).unwrap();
    let pushed = push(&Access { auth_file: Some(auth_file), ..Access::default() }).await.unwrap();
    assert_eq!(pushed.name, format!("{}/assisted/agent@{}", registry.name(), index.manifest.digest));
}
