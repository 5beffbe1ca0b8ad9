//! A cluster as its installer makes it, and its API.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use assisted_testkit::kubernetes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};
use tempfile::TempDir;

use crate::machine::{Machine, Network, PROGRAM, ended, run};

pub(crate) const VIP: &str = "192.168.126.5";
const NAMES: &str = "api.lab.example.com api-int.lab.example.com";

pub(crate) struct Site {
    pub(crate) network: Network,
    pub(crate) dir: TempDir,
}

impl Site {
    /// Runs the installer.
    pub(crate) fn new(masters: usize, arbiters: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = json!({
            "apiVersion": "v1", "baseDomain": "example.com", "metadata": {"name": "lab"},
            "networking": {"machineNetwork": [{"cidr": "192.168.126.0/24"}], "serviceNetwork": ["172.30.0.0/16"]},
            "controlPlane": {"name": "master", "replicas": masters}, "compute": [{"name": "worker", "replicas": 0}],
            "pullSecret": "{\"auths\":{}}", "sshKey": "",
        });
        match masters {
            1 => {
                config["platform"] = json!({"none": {}});
                config["bootstrapInPlace"] = json!({"installationDisk": "/dev/vda"});
            }
            _ => {
                config["platform"] =
                    json!({"baremetal": {"apiVIPs": [VIP], "ingressVIPs": ["192.168.126.6"], "hosts": []}});
            }
        }
        if arbiters > 0 {
            config["arbiter"] = json!({"name": "arbiter", "replicas": arbiters});
        }
        std::fs::write(dir.path().join("install-config.yaml"), config.to_string()).unwrap();
        let program = dir.path().join("openshift-install");
        std::os::unix::fs::symlink(PROGRAM, &program).unwrap();
        let create = |target: &str| {
            let mut command = Command::new(&program);
            command.args(["create", target, "--dir"]).arg(dir.path());
            command.env(
                "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE",
                "192.168.126.1:5000/ocp/release:4.20.1-x86_64",
            );
            run(command.env("OPENSHIFT_INSTALL_INVOKER", "assisted-installer"));
        };
        create("manifests");
        create(if masters == 1 { "single-node-ignition-config" } else { "ignition-configs" });
        Self { network: Network::new(), dir }
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    /// A bootstrap config as the service leaves it.
    pub(crate) fn bootstrap(&self, name: &str) -> String {
        let mut config: Value = serde_json::from_str(&self.read(name)).unwrap();
        for file in config["storage"]["files"].as_array_mut().unwrap() {
            if let Some(only) = file["append"].as_array().and_then(|all| all.first().cloned()) {
                file["contents"] = only;
                file.as_object_mut().unwrap().remove("append");
            }
        }
        config.to_string()
    }

    pub(crate) fn machine(&self, name: &str, address: &str, api: &str) -> Machine {
        let machine = Machine::new(&self.network, name, address);
        machine.know(&format!("{api} {NAMES}"));
        machine
    }

    fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("auth/kubeconfig")
    }

    /// `kubectl` as an administrator, from outside of the machines.
    pub(crate) fn kubectl(&self, server: &str, args: &[&str]) -> Option<String> {
        let output = ended(self.command(server).args(args));
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, server: &str) -> Command {
        let mut command = self.network.0.command(kubernetes::find("kubectl").unwrap());
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command.args(["--server", &format!("https://{server}:6443"), "--request-timeout=20s"]);
        command.args(["--tls-server-name", "api.lab.example.com"]);
        command
    }

    pub(crate) fn json(&self, server: &str, args: &[&str]) -> Option<Value> {
        serde_json::from_str(&self.kubectl(server, &[args, &["--output=json"]].concat())?).ok()
    }

    pub(crate) fn apply(&self, server: &str, objects: &Value) {
        let path = self.dir.path().join("objects.json");
        std::fs::File::create(&path).unwrap().write_all(objects.to_string().as_bytes()).unwrap();
        run(self.command(server).args(["apply", "--filename"]).arg(path));
    }

    /// Names of the nodes that are ready.
    pub(crate) fn ready(&self, server: &str) -> Vec<String> {
        let Some(nodes) = self.json(server, &["get", "nodes"]) else { return Vec::new() };
        let is_ready = |node: &Value| {
            let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        };
        let nodes = nodes["items"].as_array().unwrap().iter().filter(|node| is_ready(node));
        nodes.map(|node| node["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// What Ignition does on a machine that starts for the first time: it fetches what its config points to, proves it, and
/// lays it.
pub(crate) fn first_start(machine: &Machine, pointer: &str) {
    let pointer: Value = serde_json::from_str(pointer).unwrap();
    let url = pointer["ignition"]["config"]["merge"][0]["source"].as_str().unwrap();
    let authority = &pointer["ignition"]["security"]["tls"]["certificateAuthorities"][0]["source"];
    let authority = STANDARD.decode(authority.as_str().unwrap().split_once(',').unwrap().1).unwrap();
    let root = machine.path("/tmp/root-ca.crt");
    std::fs::write(&root, authority).unwrap();
    let mut config: Value = serde_json::from_slice(&fetch(machine, &root, url)).unwrap();
    config["storage"]["files"].as_array_mut().unwrap().retain(|file| {
        let source = file["contents"]["source"].as_str().unwrap();
        if source.starts_with("data:") {
            return true;
        }
        let content = fetch(machine, &root, source);
        let digest: String = Sha512::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(file["contents"]["verification"]["hash"], format!("sha512-{digest}"));
        std::fs::write(machine.path("/var/usrlocal/bin/lab-cluster"), content).unwrap();
        false
    });
    machine.lay(&config.to_string());
}

fn fetch(machine: &Machine, root: &Path, url: &str) -> Vec<u8> {
    let mut command = machine.outside("curl");
    command.args(["--silent", "--show-error", "--fail", "--user-agent", "Ignition/2.14.0", "--cacert"]);
    let output =
        ended(command.arg(root).args(["--retry", "60", "--retry-all-errors", "--retry-delay", "1", url]));
    assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
