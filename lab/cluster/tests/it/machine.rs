//! Machines that are no more than namespaces: a network, processes, a name and a root folder.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use assisted_testkit::{kubernetes, tied};
use tempfile::TempDir;

/// How long anything may take.
const TIMEOUT: Duration = Duration::from_secs(420);
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_lab-cluster");
const FOLDERS: &[&str] = &["etc", "usr", "var/usrlocal/bin", "var/log", "opt", "tmp", "run", "root"];

/// Runs a program to its end, which must be a good one.
pub(crate) fn run(command: &mut Command) -> String {
    let output = ended(command);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {}{told}", String::from_utf8_lossy(&output.stderr));
    told
}

pub(crate) fn ended(command: &mut Command) -> Output {
    command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}: run `cargo xtask setup`"))
}

fn ip(args: &[&str]) {
    run(Command::new("ip").args(args));
}

/// Looks until something is there.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            eprintln!("{:6.1} s: {what}", begin.elapsed().as_secs_f64());
            return found;
        }
        assert!(begin.elapsed() < TIMEOUT, "it never came: {what}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// A namespace of the network; it goes with this value.
pub(crate) struct Space(pub(crate) String);

impl Space {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        assert!(
            rustix::process::geteuid().is_root(),
            "network namespaces need root: run these tests as root"
        );
        let space = Self(format!("lab{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
        ip(&["netns", "add", &space.0]);
        space.ip(&["link", "set", "lo", "up"]);
        space
    }

    fn ip(&self, args: &[&str]) {
        ip(&[&["-n", &self.0], args].concat());
    }

    /// A program in the namespace.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = tied(Path::new("ip"));
        command.args(["netns", "exec", &self.0]).arg(program.as_ref());
        command
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).output();
    }
}

/// The network that machines are on, and its gateway.
pub(crate) struct Network(pub(crate) Space);

impl Network {
    pub(crate) fn new() -> Self {
        let space = Space::new();
        space.ip(&["link", "add", "sw", "type", "bridge", "forward_delay", "0"]);
        space.ip(&["link", "set", "sw", "up"]);
        space.ip(&["address", "add", "192.168.126.1/24", "dev", "sw"]);
        Self(space)
    }
}

/// A machine.
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) address: String,
    root: TempDir,
    running: Vec<(String, Child)>,
    space: Space,
}

impl Machine {
    pub(crate) fn new(network: &Network, name: &str, address: &str) -> Self {
        let space = Space::new();
        let port = format!("p-{name}");
        let net = &network.0;
        ip(&[
            "link", "add", "eth0", "netns", &space.0, "type", "veth", "peer", "name", &port, "netns", &net.0,
        ]);
        space.ip(&["link", "set", "eth0", "up"]);
        space.ip(&["address", "add", &format!("{address}/24"), "dev", "eth0"]);
        space.ip(&["route", "add", "default", "via", "192.168.126.1"]);
        net.ip(&["link", "set", &port, "up", "master", "sw"]);
        let root = fresh(name);
        Self { name: name.to_owned(), address: address.to_owned(), root, running: Vec::new(), space }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    /// A program on this machine.
    fn command(&self, program: &str) -> Command {
        let mut command = self.space.command("bwrap");
        let root = self.root.path().to_str().unwrap();
        let local = format!("{root}/var/usrlocal");
        let kube = kubernetes::root().unwrap();
        let path = "/opt/kube:/usr/local/bin:/usr/sbin:/usr/bin";
        command
            .args(["--die-with-parent", "--unshare-pid", "--unshare-uts", "--hostname", &self.name])
            .args(["--bind", root, "/", "--ro-bind", "/usr", "/usr", "--bind", &local, "/usr/local"])
            .args(["--proc", "/proc", "--dev", "/dev", "--ro-bind", kube.to_str().unwrap(), "/opt/kube"])
            .args(["--clearenv", "--setenv", "PATH", path, "--setenv", "LAB_PROGRAMS", "direct"]);
        for (name, value) in kubernetes::FEWER_COLLECTIONS {
            command.args(["--setenv", name, value]);
        }
        command.args(["--chdir", "/", "--", program]);
        command
    }

    /// Starts a unit as its text says; its log is a file on the machine.
    pub(crate) fn start(&mut self, unit: &str) {
        let text =
            std::fs::read_to_string(self.path(&format!("/etc/systemd/system/{unit}.service"))).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let mut words = line.split_whitespace();
        let mut command = self.command(words.next().unwrap());
        let log = std::fs::File::create(self.log_path(unit)).unwrap();
        command.args(words).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.running.push((unit.to_owned(), command.spawn().unwrap()));
    }

    fn log_path(&self, unit: &str) -> PathBuf {
        self.path(&format!("/var/log/{unit}.log"))
    }

    pub(crate) fn log(&self, unit: &str) -> String {
        std::fs::read_to_string(self.log_path(unit)).unwrap_or_default()
    }

    /// Everything on the machine stops at once.
    pub(crate) fn power_off(&mut self) {
        for (_, mut child) in self.running.drain(..) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// It starts from an empty disk.
    pub(crate) fn wipe(&mut self) {
        self.power_off();
        let output = ended(Command::new("ip").args([
            "-n",
            &self.space.0,
            "address",
            "flush",
            "dev",
            "eth0",
            "scope",
            "global",
        ]));
        assert!(output.status.success());
        self.space.ip(&["address", "add", &format!("{}/24", self.address), "dev", "eth0"]);
        self.space.ip(&["route", "add", "default", "via", "192.168.126.1"]);
        let hosts = std::fs::read(self.path("/etc/hosts")).unwrap();
        self.root = fresh(&self.name);
        std::fs::write(self.path("/etc/hosts"), hosts).unwrap();
    }

    /// Has the names of the cluster known.
    pub(crate) fn know(&self, names: &str) {
        std::fs::write(self.path("/etc/hosts"), format!("127.0.0.1 localhost\n{names}\n")).unwrap();
    }

    /// Lays an Ignition config onto the machine.
    pub(crate) fn apply_config(&self, config: &str) {
        let path = "/opt/install-dir/config.ign";
        std::fs::create_dir_all(self.path("/opt/install-dir")).unwrap();
        std::fs::write(self.path(path), config).unwrap();
        let mut daemon = Command::new(PROGRAM);
        daemon.args(["machine-config-daemon", "start", "--node-name", "localhost", "--root-mount"]);
        run(daemon.arg(self.root.path()).args(["--once-from", path, "--skip-reboot"]));
    }

    /// What a failed test should show.
    pub(crate) fn print_logs(&self) {
        for (unit, _) in &self.running {
            eprintln!("--- {} {unit}\n{}", self.name, tail(&self.log(unit), 60));
        }
        for entry in std::fs::read_dir(self.path("/var/log/containers")).into_iter().flatten().flatten() {
            let text = std::fs::read(entry.path()).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            eprintln!("--- {} {}\n{}", self.name, entry.file_name().to_string_lossy(), tail(&text, 25));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print_logs();
        }
        self.power_off();
    }
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<_> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

fn fresh(name: &str) -> TempDir {
    let root = tempfile::Builder::new().prefix(&format!("lab-{name}-")).tempdir().unwrap();
    for folder in FOLDERS {
        std::fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    for (link, to) in [
        ("usr/local", "../var/usrlocal"),
        ("bin", "usr/bin"),
        ("sbin", "usr/sbin"),
        ("lib", "usr/lib"),
        ("lib64", "usr/lib64"),
    ] {
        std::os::unix::fs::symlink(to, root.path().join(link)).unwrap();
    }
    root
}
