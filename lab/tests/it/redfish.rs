//! Real machines, as far as this computer has them: a management controller (sushy-tools) that switches a virtual machine on
//! and off, on a network of its own that a card leads to.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use assisted_lab_machines::machine::{
    Accelerator, Boot, Disk, Firmware, Hypervisor, Link, Machine, Nic, Spec, Verdict,
};
use assisted_testkit::{ManagementController, Port, built, built_for_hosts, skip};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use crate::hub::{condition, objects};
use crate::support::{INSTALLATION, console, has_node, output, run, text};

const MAC: &str = "52:54:00:7e:10:01";

/// Where the machine stands: a switch, a tap for the machine, and a cable whose other end is a card of this computer.
struct RackNetwork {
    namespace: String,
    card: String,
}

impl RackNetwork {
    fn new() -> Self {
        let pid = std::process::id();
        let rack = Self { namespace: format!("lab-room-{pid}"), card: format!("labc{pid}") };
        let ip = |words: &[&str]| drop(run(Command::new("ip").args(words)));
        ip(&["netns", "add", &rack.namespace]);
        ip(&["link", "add", &rack.card, "type", "veth", "peer", "name", "uplink", "netns", &rack.namespace]);
        let inside = |words: &[&str]| ip(&[&["-n", &rack.namespace], words].concat());
        inside(&["link", "add", "switch", "type", "bridge"]);
        inside(&["tuntap", "add", "tap0", "mode", "tap"]);
        for link in ["tap0", "uplink"] {
            inside(&["link", "set", link, "master", "switch", "up"]);
        }
        inside(&["link", "set", "switch", "up"]);
        rack
    }
}

impl Drop for RackNetwork {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.namespace]).status();
    }
}

/// The hardware behind a controller: it does what that tells it, and goes with the last word.
fn hardware(orders: &TcpListener, namespace: &str, id: Uuid, dir: &Path) {
    let mut machine: Option<Machine> = None;
    orders.set_nonblocking(true).unwrap();
    loop {
        let mut order = match orders.accept() {
            Ok((order, _)) => order,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                // It looks after its machine meanwhile.
                machine.iter_mut().for_each(|machine| machine.must_live("(an order)").unwrap());
                thread::sleep(Duration::from_millis(100));
                continue;
            }
        };
        order.set_nonblocking(false).unwrap();
        let order = taken(&mut order);
        match order["power_state"].as_str() {
            Some("On") if machine.is_none() => {
                let medium = order["boot_image"]["Cd"][0].as_str().unwrap();
                assert_eq!(order["boot_device"], "Cd", "{order:#}");
                let mut spec = Spec::new("real", Firmware::Uefi, Boot::Cd(medium.into()));
                spec.uuid = id;
                spec.memory_mib = 6144;
                spec.disks = vec![Disk { bytes: 40 << 30 }];
                spec.nics = vec![Nic { mac: MAC.to_owned(), link: Link::Tap("tap0".to_owned()) }];
                machine = Some(Machine::start_in(namespace, &spec, dir).unwrap());
            }
            Some("Off") => machine = None,
            Some("Gone") => return,
            _ => {}
        }
    }
}

/// What a request holds; it is answered.
fn taken(stream: &mut TcpStream) -> Value {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let header = line.trim().to_ascii_lowercase();
        if let Some(given) = header.strip_prefix("content-length:") {
            length = given.trim().parse().unwrap();
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    serde_json::from_slice(&body).unwrap_or_default()
}

/// A machine in a rack: hardware, its management controller, and the list by which the lab knows it.
struct Rack {
    network: RackNetwork,
    emulator: ManagementController,
    /// Where the hardware takes orders.
    orders: SocketAddr,
    hardware: JoinHandle<()>,
    media: Port,
    dir: TempDir,
}

impl Rack {
    fn start() -> Self {
        let (dir, network, id) = (tempfile::tempdir().unwrap(), RackNetwork::new(), Uuid::new_v4());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let orders = listener.local_addr().unwrap();
        let emulator = ManagementController::start(&id.to_string(), MAC, Some(orders), dir.path()).unwrap();
        let (namespace, machine) = (network.namespace.clone(), dir.path().join("machine"));
        let hardware = thread::spawn(move || hardware(&listener, &namespace, id, &machine));
        Self { network, emulator, orders, hardware, media: Port::free().unwrap(), dir }
    }

    /// Runs the lab to its end, with a list that has this password for the controller.
    fn lab(&self, password: &str, more: &[&str]) -> Output {
        let dir = self.dir.path();
        std::fs::write(dir.join("password"), format!("{password}\n")).unwrap();
        let bmc = json!({
            "system": self.emulator.system, "user": ManagementController::USER, "password_file": "password",
        });
        let machine = json!({"name": "master-0", "role": "master", "mac": MAC, "bmc": bmc});
        let media = format!("127.0.0.1:{}", self.media.number);
        let list = json!({"interface": self.network.card, "media": media, "machines": [machine]});
        let (path, folder) = (dir.join("machines.json"), dir.join("lab"));
        std::fs::write(&path, list.to_string()).unwrap();
        let mut command = Command::new(built("assisted-lab").unwrap());
        command.args(["up", "--machines", text(&path), "--dir", text(&folder), "--once"]);
        output(command.args(more), INSTALLATION)
    }

    /// What a lab said that has come to its end.
    fn installed(&self, more: &[&str]) -> String {
        let up = self.lab(ManagementController::PASSWORD, more);
        let said = String::from_utf8_lossy(&up.stdout).into_owned();
        let of_machine = || self.emulator.log() + &console(&self.dir.path().join("machine"));
        assert!(up.status.success(), "{said}\n{}\n{}", String::from_utf8_lossy(&up.stderr), of_machine());
        assert!(has_node(&said, "master-0"), "no node that is ready in:\n{said}");
        // Where the minutes went, for whoever reads the log of a run: a test's standard output is shown when it fails alone.
        let minutes = said.lines().skip_while(|line| line.split_whitespace().next() != Some("minutes"));
        let mut log = std::io::stderr();
        for line in minutes.take_while(|line| !line.is_empty()) {
            writeln!(log, "{line}").unwrap();
        }
        said
    }

    fn end(self) {
        let body = json!({"power_state": "Gone"}).to_string();
        let mut last = TcpStream::connect(self.orders).unwrap();
        write!(last, "PUT / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.hardware.join().unwrap();
    }
}

/// Whether machines run fast here, and why.
fn verdict() -> Verdict {
    Hypervisor::here().unwrap().verdict(|_| ())
}

/// Emulated it takes longer than all that CI has time for (docs/adr/0027-virtual-machines-in-ci.md).
#[test]
fn a_single_node_is_installed_where_an_accelerator_works() {
    let verdict = verdict();
    match verdict.accelerator {
        Accelerator::Kvm => a_single_node_is_installed(),
        Accelerator::Tcg => {
            skip(&format!("no accelerator works here ({}): see docs/adr/0027", verdict.why));
        }
    }
}

#[test]
fn everything_a_single_node_is_installed_on_a_machine_that_its_management_controller_starts() {
    // Where an accelerator works, the one above has done it.
    if verdict().accelerator == Accelerator::Tcg {
        a_single_node_is_installed();
    }
}

fn a_single_node_is_installed() {
    let rack = Rack::start();
    let refused = rack.lab("guess", &[]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && why.contains("refused GET (401"), "{why}");
    assert!(refused.stdout.is_empty(), "nothing has begun: {refused:?}");
    let refused = rack.lab("guess", &["--fault", "network-cut"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("virtual machines alone"), "{refused:?}");

    let programs = rack.dir.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    std::fs::copy(built_for_hosts().unwrap(), programs.join("assisted-host-x86_64")).unwrap();
    let image = ["--iso", "minimal", "--static-network", "--host-programs", text(&programs)];
    let said = rack.installed(&[&["--fault", "service-restart"], &image[..]].concat());
    for line in [
        "master-0: its management controller boots the image",
        "known",
        "hosts are checked",
        "fault in cluster lab: the service is killed",
        "cluster lab: installed 100%",
    ] {
        assert!(said.contains(line), "no {line:?} in:\n{said}");
    }
    rack.end();
}

#[test]
fn everything_a_machine_that_its_management_controller_starts_is_a_cluster_of_cluster_api() {
    let rack = Rack::start();
    let refused = rack.lab("guess", &["--cluster-api=disk-image"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("live ISO alone"), "{refused:?}");
    let said = rack.installed(&["--cluster-api"]);
    for line in [
        "master-0: its management controller boots the image",
        "ControlPlaneInitialized=False",
        " Available=True",
        "clusterctl describe cluster lab",
    ] {
        assert!(said.contains(line), "no {line:?} in:\n{said}");
    }
    // The node has been told its provider id by the label that it has got by itself.
    assert!(said.lines().any(|line| line.starts_with("master-0") && line.contains("metal3://")), "{said}");
    assert!(!said.contains("$ assisted "), "nobody gave the service an order:\n{said}");
    rack.end();
}

#[test]
fn everything_a_machine_that_its_management_controller_starts_is_a_cluster_of_a_hub() {
    let rack = Rack::start();
    let said = rack.installed(&["--hub"]);
    assert!(said.contains("master-0: its management controller boots the image"), "{said}");
    assert!(!said.contains("$ assisted "), "nobody gave the service an order:\n{said}");
    let of_kind = |kind| {
        let mut all = objects(&rack.dir.path().join("lab"), kind);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    };
    let (install, agent, host) =
        (of_kind("agentclusterinstalls"), of_kind("agents"), of_kind("baremetalhosts"));
    for kind in ["SpecSynced", "Completed", "Stopped"] {
        assert_eq!(condition(&install, kind), "True", "{kind}");
    }
    for kind in ["SpecSynced", "Bound", "Installed"] {
        assert_eq!(condition(&agent, kind), "True", "{kind}");
    }
    assert_eq!((&agent["spec"]["hostname"], &agent["spec"]["approved"]), (&json!("master-0"), &json!(true)));
    // What the controller booted is the image of the InfraEnv, and metal3 keeps its hands off since.
    let image = &of_kind("infraenvs")["status"]["isoDownloadURL"];
    assert_eq!(
        (&host["spec"]["image"]["url"], &host["status"]["provisioning"]["image"]["url"]),
        (image, image)
    );
    assert!(host["metadata"]["annotations"]["baremetalhost.metal3.io/detached"].is_string(), "{host}");
    rack.end();
}
