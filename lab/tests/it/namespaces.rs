//! Whole installations on machines that are namespaces: the product's agent, installer and controller, a real etcd and a real
//! Kubernetes, without an emulated processor.

use std::path::{Path, PathBuf};
use std::process::Command;

use assisted_testkit::built;

use crate::support::{INSTALLATION, console, has_node, output, text};

/// A cluster that was installed, and what it left in its folder.
struct Installed {
    dir: tempfile::TempDir,
    told: String,
}

/// Installs a cluster, whose machines have these names.
fn install(options: &[&str], names: &[&str]) -> Installed {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(built("assisted").unwrap());
    command.args(["lab", "up", "--namespaces", "--once"]).args(options).args(["--dir", text(dir.path())]);
    let up = output(&mut command, INSTALLATION);
    let told = String::from_utf8_lossy(&up.stdout).into_owned();
    if !up.status.success() {
        let consoles: String = names.iter().map(|name| console(&dir.path().join(name))).collect();
        panic!("{told}\n{}{consoles}", String::from_utf8_lossy(&up.stderr));
    }
    for name in names {
        assert!(has_node(&told, name), "no {name} that is ready in:\n{told}");
    }
    assert!(told.contains("cluster lab: installed 100%"), "{told}");
    Installed { dir, told }
}

impl Installed {
    fn said(&self, line: &str) {
        assert!(self.told.contains(line), "no {line:?} in:\n{}", self.told);
    }

    /// What was decided about the nodes' certificates: by the lab about one node as a client, on which the controller can
    /// then run, and by the controller about all others.
    fn controller_let_in(&self, nodes: usize) {
        let by_lab = self.logs("live/run/log/lab", "approve-csr.service.log");
        let approved = |text: &str| text.lines().filter(|line| line.contains(" approved ")).count();
        assert_eq!(approved(&by_lab), 1, "{by_lab}");
        let by_controller = self.logs("root/var/log/containers", "assisted-installer-controller");
        // One as a client and one as a server each.
        assert_eq!(approved(&by_controller), 2 * nodes - 1, "{by_controller}");
    }

    /// The logs of all machines in a folder whose names begin so.
    fn logs(&self, folder: &str, name: &str) -> String {
        let list = |path: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
        };
        let begins = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(name);
        let logs = list(self.dir.path()).into_iter().flat_map(|machine| list(&machine.join(folder)));
        let texts = logs.filter(begins).map(|path| std::fs::read(path).unwrap());
        texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
    }
}

#[test]
fn three_control_plane_nodes_and_a_worker_while_the_service_is_killed() {
    let names = ["master-0", "master-1", "master-2", "worker-0"];
    let options = ["--topology", "compact", "--workers", "1", "--fault", "service-restart"];
    let cluster = install(&options, &names);
    for line in
        ["the service is killed", "Waiting for bootkube", "Waiting for control plane", "Rebooting", "Joined"]
    {
        cluster.said(line);
    }
    cluster.controller_let_in(names.len());
}

#[test]
fn two_control_plane_nodes_and_an_arbiter() {
    let cluster = install(&["--topology", "arbiter"], &["master-0", "master-1", "arbiter-0"]);
    cluster.said("arbiter");
    cluster.controller_let_in(3);
}
