//! `assisted-lab up`, as a person runs it: whole clusters, from the image to the kubeconfig.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use assisted_testkit::built;

use crate::support::{INSTALLATION, console, has_node, output, text};

/// How long the lab may take to refuse: it begins nothing before.
const REFUSAL: Duration = Duration::from_secs(60);

/// A minute, what the lab does before, and what it takes down.
const ENDED: Duration = Duration::from_secs(10 * 60);

fn lab(dir: &Path, words: &[&str], limit: Duration) -> Output {
    let mut command = Command::new(built("assisted-lab").unwrap());
    output(command.args(words).args(["--dir", text(dir)]), limit)
}

#[test]
fn everything_a_control_plane_of_three_is_installed_from_a_minimal_image_with_fixed_addresses() {
    let dir = tempfile::tempdir().unwrap();
    let shape = ["--topology", "compact", "--iso", "minimal", "--static-network"];
    let up = lab(dir.path(), &[&["up", "--once"], &shape[..]].concat(), INSTALLATION);
    let told = String::from_utf8_lossy(&up.stdout);
    if !up.status.success() {
        let machines = (0..3).map(|number| dir.path().join(format!("master-{number}")));
        let consoles: String = machines.map(|machine| console(&machine)).collect();
        panic!("{told}\n{}{consoles}", String::from_utf8_lossy(&up.stderr));
    }
    // Asked with the kubeconfig, of the control plane that the machines are now.
    for (name, address) in
        [("master-0", "192.168.126.10"), ("master-1", "192.168.126.11"), ("master-2", "192.168.126.12")]
    {
        assert!(has_node(&told, name), "no {name} that is ready in:\n{told}");
        assert!(told.contains(address), "no {address} in:\n{told}");
    }
    // The bootstrap host gave way to the others, and became one of them.
    for line in
        ["Waiting for bootkube", "Rebooting", "Joined", "cluster lab: installed 100%", "  all together"]
    {
        assert!(told.contains(line), "no {line:?} in:\n{told}");
    }
}

#[test]
fn everything_a_lab_that_nobody_goes_on_with_ends_at_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let up = lab(dir.path(), &["up", "--once", "--namespaces", "--by-hand", "--limit", "1"], ENDED);
    let (told, said) = (String::from_utf8_lossy(&up.stdout), String::from_utf8_lossy(&up.stderr));
    assert_eq!(up.status.code(), Some(1), "{told}\n{said}");
    // What did not come, and where to look.
    let late = said.lines().find_map(|line| line.strip_prefix("assisted-lab: the image "));
    let parts = late.and_then(|late| late.split_once(" did not come within "));
    let (what, look) = parts.unwrap_or_else(|| panic!("{told}\n{said}"));
    assert!(Path::new(what).starts_with(dir.path()), "{what}");
    let log = dir.path().join("service.log");
    assert!(look.contains(&format!(" s; its traces are in {}", log.display())), "{look}");
    assert!(std::fs::metadata(&log).unwrap().len() > 0);
    // It has taken itself down.
    let status = lab(dir.path(), &["status"], REFUSAL);
    let said = String::from_utf8_lossy(&status.stderr);
    assert!(!status.status.success() && said.contains("there is no lab"), "{said}");
}

#[test]
fn what_a_lab_cannot_do_is_said() {
    let dir = tempfile::tempdir().unwrap();
    for (words, why) in [
        (&["status"][..], "assisted-lab up"),
        (&["down"], "assisted-lab up"),
        (&["up", "--topology", "sno", "--fault", "missing-worker"], "whose role is worker"),
        (&["up", "--machines", "nowhere.yaml"], "nowhere.yaml"),
        (&["up", "--cluster-api=disk-image"], "live ISO alone"),
        (&["up", "--cluster-api", "--machines", "nowhere.yaml"], "nowhere.yaml"),
        (&["up", "--image-mode", "Containerfile", "--workers-in-cluster"], "--namespaces"),
        (&["up", "--image-mode", "Containerfile", "--switch"], "--namespaces"),
        (&["up", "--image-mode", "Containerfile", "--external-registry"], "--namespaces"),
        (&["up", "--cluster-api", "--hub"], "cannot be used with"),
        (&["up", "--hub=converged"], "--namespaces"),
        (&["up", "--fault", "reset-while-writing", "--fault", "network-cut"], "has to go wrong alone"),
        (&["up", "--fault", "image-step"], "in image mode alone"),
        (&["up", "--image-mode", "Containerfile", "--fault", "image-push"], "--namespaces"),
    ] {
        let output = lab(dir.path(), words, REFUSAL);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{words:?}: {said}");
    }
}
