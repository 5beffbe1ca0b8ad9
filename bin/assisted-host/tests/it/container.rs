//! The agent and the installer as existing images deliver them: in container images, which a real podman pulls from a real registry and
//! runs by the very command lines of the discovery config and of the agent, on a machine that is no more than namespaces.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use assisted_ignition::discovery::{Agent, Delivery, Discovery, TimeSources, discovery};
use assisted_testkit::oci::{Image, Layer, push};
use assisted_testkit::{Access, DockerRegistry, PodmanHost};
use assisted_wire::id::InfraEnvId;
use assisted_wire::secret::Secret;
use serde_json::{Value, json};

use crate::service::{self, Asked, stages};
use crate::{ID, PROGRAM};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Looks until something is there.
fn until<T>(
    machine: &PodmanHost,
    what: &str,
    asked: &Asked,
    mut look: impl FnMut(&[String]) -> Option<T>,
) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look(&asked.lock().unwrap()) {
            return found;
        }
        let asked = asked.lock().unwrap();
        assert!(begin.elapsed() < PATIENCE, "it never came: {what}\n{}\n{asked:#?}", machine.log());
        drop(asked);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The libraries of programs, by their paths.
pub(crate) fn libraries(programs: &[&Path]) -> BTreeSet<PathBuf> {
    let output = Command::new("ldd").args(programs).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace()
        .filter(|word| word.starts_with('/') && !word.ends_with(':'))
        .map(PathBuf::from)
        .collect()
}

/// Images of the agent and of the installer: the program under its names, and what it is linked with as long as it is tried. The command
/// lines want `cp` and `nsenter` besides, which it is as well.
async fn images(registry: &DockerRegistry) -> (String, String) {
    let mut layer = Layer::new().unwrap();
    let mut add = |path: &str, from: &Path| {
        let file = File::open(from).unwrap();
        let size = file.metadata().unwrap().len();
        let layer_before = std::mem::replace(&mut layer, Layer::new().unwrap());
        layer = layer_before.file_from(path, file, size).unwrap();
    };
    let program = Path::new(PROGRAM);
    add("usr/bin/agent", program);
    for library in libraries(&[program]) {
        add(library.to_str().unwrap().trim_start_matches('/'), &library);
    }
    for name in ["assisted-installer", "cp", "nsenter"] {
        layer = layer.symlink(&format!("usr/bin/{name}"), "agent").unwrap();
    }
    let layer = layer.finish().unwrap();
    let agent = Image::new("amd64", vec![layer.clone()]).unwrap();
    let installer = Image::running("amd64", vec![layer], &["/usr/bin/assisted-installer"]).unwrap();
    push(registry, "lab/agent", Some("1"), &agent).await.unwrap();
    push(registry, "lab/installer", Some("1"), &installer).await.unwrap();
    let name = registry.name();
    (format!("{name}/lab/agent:1"), format!("{name}/lab/installer:1"))
}

/// A script that does what systemd does with the agent's unit of a discovery config, after Ignition has laid its files.
fn delivered(url: &str, image: &str) -> String {
    let (pull_secret, token) =
        (Secret::from(r#"{"auths":{}}"#.to_owned()), Secret::from("a token".to_owned()));
    let config = discovery(&Discovery {
        infra_env_id: InfraEnvId::default(),
        agent: Agent {
            service_url: url,
            version: image,
            delivery: Delivery::Image(image),
            starts_at_boot: true,
            start_timeout: Duration::from_secs(600),
            token: Some(&token),
            service_ca: None,
            skip_cert_verification: false,
        },
        ssh_keys: "",
        pull_secret: &pull_secret,
        proxy: None,
        trust_bundle: "",
        mirrors: None,
        time: TimeSources::Own,
        network: &[],
        okd_rpms_image: None,
    });
    let mut script = "set -e\n".to_owned();
    for file in config
        .storage
        .files
        .iter()
        .filter(|file| file.path.starts_with("/usr/local/bin/agent") || file.path.starts_with("/root/"))
    {
        let content = String::from_utf8(file.contents.data().unwrap()).unwrap();
        let path = &file.path;
        write!(
            script,
            "cat > {path} << 'END OF FILE'\n{content}\nEND OF FILE\nchmod {:o} {path}\n",
            file.mode.unwrap()
        )
        .unwrap();
    }
    let unit = config.systemd.units.iter().find(|unit| unit.name == "agent.service").unwrap();
    let unit = unit.contents.as_deref().unwrap();
    let of = |key: &'static str| unit.lines().filter_map(move |line| line.strip_prefix(key));
    of("Environment=").for_each(|value| writeln!(script, "export {value}").unwrap());
    of("ExecStartPre=").for_each(|line| writeln!(script, "{line}").unwrap());
    of("ExecStart=").for_each(|line| writeln!(script, "{line} --with-journal-logging=false").unwrap());
    script
}

/// A service that gives these steps once each, in their order, and is content with the agent's version.
fn service(agent: &str, steps: Vec<Value>) -> (String, Asked) {
    let agent = agent.to_owned();
    let left = Mutex::new(std::collections::VecDeque::from(steps));
    service::start(move |line| {
        if line.starts_with("POST ") && line.contains("/hosts HTTP") {
            let args = json!({"infra_env_id": InfraEnvId::default(), "host_id": ID, "agent_version": agent})
                .to_string();
            return (
                201,
                json!({"kind": "Host", "id": ID, "next_step_runner_command": {"args": [args]}}).to_string(),
            );
        }
        if line.starts_with("GET ") && line.contains("/instructions") {
            let step: Vec<Value> = left.lock().unwrap().pop_front().into_iter().collect();
            return (
                200,
                json!({"instructions": step, "next_instruction_seconds": 1, "post_step_action": "continue"})
                    .to_string(),
            );
        }
        (200, "{}".to_owned())
    })
}

/// What the agent replied to a step.
fn reply(asked: &[String], step: &str) -> Option<Value> {
    let replies =
        asked.iter().filter(|line| line.starts_with("POST ") && line.contains("/instructions HTTP"));
    let mut bodies =
        replies.filter_map(|line| serde_json::from_str::<Value>(line.split_once(" HTTP/1.1 ")?.1).ok());
    bodies.find(|body| body["step_type"] == step)
}

fn registry() -> (tempfile::TempDir, DockerRegistry) {
    let dir = tempfile::tempdir().unwrap();
    let registry = DockerRegistry::start(dir.path(), &Access::default()).unwrap();
    (dir, registry)
}

/// The agent comes out of its image, registers, tells what the host is, and hands it over to the installer, which runs in a container and
/// works on the host from there.
#[tokio::test]
async fn agent_and_installer_come_in_images() {
    let (_dir, registry) = registry();
    let (agent, installer) = images(&registry).await;
    // No disk is there that could be written.
    let install = json!({
        "cluster_id": ID, "infra_env_id": InfraEnvId::default(), "host_id": ID, "role": "master", "boot_device": "/dev/full",
        "controller_image": installer, "installer_image": installer, "control_plane_count": 3, "check_cvo": true,
    });
    let (url, asked) = service(
        &agent,
        vec![
            json!({"step_type": "inventory", "step_id": "inventory-1", "args": [ID]}),
            json!({"step_type": "install", "step_id": "install-1", "args": [install.to_string()]}),
        ],
    );
    let machine = PodmanHost::new(&registry.name()).unwrap();
    machine.start(&delivered(&url, &agent)).unwrap();
    let registered = until(&machine, "registration", &asked, |asked| {
        asked.iter().find(|line| line.starts_with("POST ") && line.contains("/hosts HTTP")).cloned()
    });
    assert!(registered.contains(&agent), "{registered}");
    let inventory = until(&machine, "inventory", &asked, |asked| reply(asked, "inventory"));
    assert!(inventory["exit_code"].is_null(), "{inventory:#}");
    let inventory: Value = serde_json::from_str(inventory["output"].as_str().unwrap()).unwrap();
    assert_eq!(inventory["hostname"], "lab-host");
    let installed = until(&machine, "the end of the installer", &asked, |asked| reply(asked, "install"));
    assert_ne!(installed["exit_code"], 0, "{installed:#}");
    let told = asked.lock().unwrap();
    let told = stages(&told);
    assert_eq!(
        (told.first(), told.last()),
        (Some(&"Starting installation"), Some(&"Failed")),
        "{told:?} {installed:#}"
    );
    // It ran in a container of that name, and what it had to run was sought on the host, whose podman it found.
    assert!(machine.dir().join("storage/vfs-containers/containers.json").exists());
    let containers =
        std::fs::read_to_string(machine.dir().join("storage/vfs-containers/containers.json")).unwrap();
    assert!(containers.contains("\"assisted-installer\""), "{containers}");
}

/// An agent that runs in a container does its steps on the host: the image has no podman, and yet it tells which images podman has.
#[tokio::test]
async fn a_contained_agent_works_on_the_host() {
    let (_dir, registry) = registry();
    let (agent, installer) = images(&registry).await;
    let (url, asked) = service(
        &agent,
        vec![
            json!({"step_type": "container-image-availability", "step_id": "images-1",
               "args": [json!({"images": [installer], "timeout": 100}).to_string()]}),
            json!({"step_type": "inventory", "step_id": "inventory-1", "args": [ID]}),
        ],
    );
    let machine = PodmanHost::new(&registry.name()).unwrap();
    let infra_env = InfraEnvId::default();
    machine.start(&format!(
        "set -e\npodman run --privileged --pid=host --net=host --uts=host --name=agent --env=PULL_SECRET_TOKEN {agent} /usr/bin/agent \
         --url {url} --infra-env-id {infra_env} --agent-version {agent} --with-journal-logging=false\n"
    ))
    .unwrap();
    let images = until(&machine, "images", &asked, |asked| reply(asked, "container-image-availability"));
    assert!(images["exit_code"].is_null(), "{images:#}");
    let told: Value = serde_json::from_str(images["output"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&told["images"][0]["name"], &told["images"][0]["result"]),
        (&json!(installer), &json!("success")),
        "{told:#}"
    );
    let inventory = until(&machine, "inventory", &asked, |asked| reply(asked, "inventory"));
    assert!(inventory["exit_code"].is_null(), "{inventory:#}");
}
