//! `assisted lab up`, as a person runs it: whole clusters, from the image to the kubeconfig.

use std::path::Path;
use std::process::{Command, Output};

use assisted_testkit::built;

use crate::support::{has_node, text};

fn lab(dir: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(built("assisted").unwrap());
    command.arg("lab").args(words).args(["--dir", text(dir)]).output().unwrap()
}

/// Installs a cluster; what was told, in which each master must be a node that is ready.
fn installed(masters: usize, words: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let up = lab(dir.path(), &[&["up", "--once"], words].concat());
    let told = String::from_utf8_lossy(&up.stdout).into_owned();
    if !up.status.success() {
        let end = |number| {
            let path = dir.path().join(format!("master-{number}/console.log"));
            let console = std::fs::read(&path).unwrap_or_default();
            let tail = &console[console.len().saturating_sub(3000)..];
            format!("\nthe end of {}:\n{}", path.display(), String::from_utf8_lossy(tail))
        };
        let consoles: String = (0..masters).map(end).collect();
        panic!("{told}\n{}{consoles}", String::from_utf8_lossy(&up.stderr));
    }
    // Asked with the kubeconfig, of the control plane that the machines are now.
    for number in 0..masters {
        let name = format!("master-{number}");
        assert!(has_node(&told, &name), "no {name} that is ready in:\n{told}");
    }
    for line in ["cluster lab: installed 100%", "s  all together"] {
        assert!(told.contains(line), "no {line:?} in:\n{told}");
    }
    told
}

#[test]
fn a_single_node_is_installed_from_a_minimal_image_with_a_fixed_address_though_the_service_dies() {
    let shape = ["--topology", "sno", "--iso", "minimal", "--static-network"];
    let told = installed(1, &[&shape[..], &["--fault", "service-restart"]].concat());
    for line in ["192.168.126.10", "fault in cluster lab: the service is killed"] {
        assert!(told.contains(line), "no {line:?} in:\n{told}");
    }
}

#[test]
fn a_control_plane_of_three_is_installed() {
    let told = installed(3, &["--topology", "compact"]);
    // The bootstrap host gave way to the others, and became one of them.
    for stage in ["Waiting for bootkube", "Rebooting", "Joined"] {
        assert!(told.contains(stage), "no {stage:?} in:\n{told}");
    }
}

#[test]
fn what_a_lab_cannot_do_is_said() {
    let dir = tempfile::tempdir().unwrap();
    for (words, why) in [
        (&["status"][..], "assisted lab up"),
        (&["down"], "assisted lab up"),
        (&["up", "--topology", "sno", "--fault", "missing-worker"], "whose role is worker"),
        (&["up", "--machines", "nowhere.yaml"], "nowhere.yaml"),
    ] {
        let output = lab(dir.path(), words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{words:?}: {said}");
    }
}
