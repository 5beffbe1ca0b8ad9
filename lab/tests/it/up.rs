//! `assisted lab up`, as a person runs it.

use std::process::Command;

use assisted_testkit::built;

use crate::support::text;

#[test]
fn a_machine_of_a_lab_becomes_a_cluster_that_can_be_installed() {
    let dir = tempfile::tempdir().unwrap();
    let lab = |words: &[&str]| {
        let mut command = Command::new(built("assisted").unwrap());
        command.arg("lab").args(words).args(["--dir", text(dir.path())]).output().unwrap()
    };
    let none = lab(&["status"]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("assisted lab up"), "{none:?}");

    let up = lab(&["up", "--topology", "sno", "--until", "ready", "--once"]);
    let told = String::from_utf8_lossy(&up.stdout);
    let console = std::fs::read_to_string(dir.path().join("master-0/console.log")).unwrap_or_default();
    let tail = console.get(console.len().saturating_sub(3000)..).unwrap_or(&console);
    assert!(up.status.success(), "{told}\n{}\n{tail}", String::from_utf8_lossy(&up.stderr));
    for line in ["master-0", "known", "s  the cluster is ready"] {
        assert!(told.contains(line), "no {line:?} in:\n{told}");
    }
    let down = lab(&["down"]);
    assert!(!down.status.success(), "it ended by itself");
}
