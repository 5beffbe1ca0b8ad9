//! A network without machines: what is at its gateway answers, and nothing stays when it goes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use assisted_lab::network::{API_VIP, INGRESS_VIP, Member, Names, Network, NetworkError, REGISTRY};

use crate::support::{run, text};

fn start(name: &str, dir: &Path) -> Result<Network, NetworkError> {
    let names = Names { cluster: "lab.example.com".into(), api: API_VIP, apps: INGRESS_VIP };
    let member =
        Member { name: "one".into(), mac: "52:54:00:00:00:0a".into(), address: [192, 168, 126, 10].into() };
    Network::start(name, &names, &[member], dir)
}

#[test]
fn a_network_has_time_and_images_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("lab-test-{}", std::process::id());
    // What an earlier one left under its name is no hindrance.
    run(Command::new("ip").args(["netns", "add", &name]));
    let mut network = start(&name, dir.path()).unwrap();
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
    network.must_live().unwrap();

    // A second registry has no address to listen at: whoever asks is told which server has ended, and why.
    let log = dir.path().join("other.log");
    let settings = dir.path().join("registry.json");
    let mut other = network.command("docker-registry");
    other.args(["serve", text(&settings)]);
    let mut other = assisted_lab::network::Running::start("a second registry", &mut other, &log).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let error = loop {
        if let Err(error) = other.must_live() {
            break error.to_string();
        }
        assert!(Instant::now() < deadline, "it goes on");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(error.contains("a second registry ended") && error.contains("address already in use"), "{error}");

    let namespace = network.namespace();
    assert!(namespace.exists());
    drop(network);
    assert!(!namespace.exists());
}
