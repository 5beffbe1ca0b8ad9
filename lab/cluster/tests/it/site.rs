//! A single node as its installer makes it, and its API.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use assisted_testkit::kubernetes;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::machine::{Machine, Network, PROGRAM, ended, run};

const NAMES: &str = "api.lab.example.com api-int.lab.example.com";

pub(crate) struct Site {
    pub(crate) network: Network,
    pub(crate) dir: TempDir,
}

impl Site {
    /// Runs the installer.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = json!({
            "apiVersion": "v1", "baseDomain": "example.com", "metadata": {"name": "lab"},
            "networking": {"machineNetwork": [{"cidr": "192.168.126.0/24"}], "serviceNetwork": ["172.30.0.0/16"]},
            "controlPlane": {"name": "master", "replicas": 1}, "compute": [{"name": "worker", "replicas": 0}],
            "pullSecret": "{\"auths\":{}}", "sshKey": "",
            "platform": {"none": {}}, "bootstrapInPlace": {"installationDisk": "/dev/vda"},
        });
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
        create("single-node-ignition-config");
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
