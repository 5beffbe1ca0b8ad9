//! A network without machines: what is at its gateway answers, and nothing stays when it goes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use assisted_lab_machines::network::{
    API_VIP, INGRESS_VIP, Member, Names, Network, NetworkError, NicAttachment, REGISTRY,
};

use crate::support::{run, text};

fn start(name: &str, attachment: NicAttachment<'_>, dir: &Path) -> Result<Network, NetworkError> {
    let names = Names { cluster: "lab.example.com".into(), api: API_VIP, apps: INGRESS_VIP };
    let member =
        Member { name: "one".into(), mac: "52:54:00:00:00:0a".into(), address: [192, 168, 126, 10].into() };
    Network::start(name, &names, &[member], attachment, dir)
}

#[test]
fn a_network_has_time_and_images_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("lab-test-{}", std::process::id());
    // What an earlier one left under its name is no hindrance.
    run(Command::new("ip").args(["netns", "add", &name]));
    let mut network = start(&name, NicAttachment::Taps, dir.path()).unwrap();
    let registry = format!("http://{REGISTRY}/v2/");
    let patient = ["-sSf", "--retry", "30", "--retry-connrefused", "--retry-delay", "1", "--noproxy", "*"];
    let answer = run(network.command("curl").args(patient).arg(&registry));
    assert_eq!(answer.stdout.trim_ascii(), b"{}");
    run(network.command("chronyd").args([
        "-Q",
        "-t",
        "30",
        "-f",
        "/dev/null",
        "server 192.168.126.1 iburst",
    ]));
    // Programs in it know its names, and no others.
    run(network.command("getent").args(["ahostsv4", "api.lab.example.com"]));
    network.must_live().unwrap();

    // A second registry has no address to listen at: whoever asks is told which server has ended, and why.
    let log = dir.path().join("other.log");
    let settings = dir.path().join("registry.json");
    let mut other = network.command("docker-registry");
    other.args(["serve", text(&settings)]);
    let mut other =
        assisted_lab_machines::network::Running::start("a second registry", &mut other, &log).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let error = loop {
        if let Err(error) = other.must_live() {
            break error.to_string();
        }
        assert!(Instant::now() < deadline, "it goes on");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(error.contains("a second registry ended") && error.contains("address already in use"), "{error}");

    let left = [network.namespace(), Path::new("/etc/netns").join(&name)];
    assert!(left.iter().all(|path| path.exists()));
    drop(network);
    assert!(left.iter().all(|path| !path.exists()));
}

#[test]
fn a_network_borrows_a_card_and_lets_in_whoever_comes_by_its_door() {
    let dir = tempfile::tempdir().unwrap();
    let pid = std::process::id();
    let (name, card, other) = (format!("lab-card-{pid}"), format!("laba{pid}"), format!("labb{pid}"));
    let ip = |words: &[&str]| Command::new("ip").args(words).output().unwrap();
    run(Command::new("ip").args(["link", "add", &card, "type", "veth", "peer", "name", &other]));
    run(Command::new("ip").args(["address", "add", "192.0.2.1/32", "dev", &card]));
    let error = start(&name, NicAttachment::Card(&card), dir.path()).unwrap_err().to_string();
    assert!(error.contains("choose one that nothing else uses"), "{error}");

    run(Command::new("ip").args(["address", "flush", "dev", &card]));
    let network = start(&name, NicAttachment::Card(&card), dir.path()).unwrap();
    assert!(!ip(&["link", "show", &card]).status.success(), "it is in the network");
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    network.forward_port(door, REGISTRY.parse().unwrap()).unwrap();
    let patient = ["-sSf", "--retry", "30", "--retry-all-errors", "--retry-delay", "1", "--noproxy", "*"];
    let answer = run(Command::new("curl").args(patient).arg(format!("http://{door}/v2/")));
    assert_eq!(answer.stdout.trim_ascii(), b"{}");
    drop(network);
    assert!(ip(&["link", "show", &card]).status.success(), "it is given back");
    run(Command::new("ip").args(["link", "delete", &card]));
}
