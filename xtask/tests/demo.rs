//! The demo where virtual machines can't be had: what works is shown, what doesn't is said, and nobody takes it for a success.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A program for the demo to find before the machine's own.
fn program(dir: &Path, name: &str, script: &str) {
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_failed_set_up_is_told_and_is_no_success() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken");
    std::fs::create_dir_all(&dir).unwrap();
    program(&dir, "id", "echo 0");
    // All that is made in the background runs by it.
    program(&dir, "nice", "echo the mirror does not answer; exit 7");
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["demo", "--once"])
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}\n{why}");
    for wanted in ["no virtual machines: ", "the mirror does not answer", "exit status: 7", "--simulated"] {
        assert!(why.contains(wanted), "{wanted}: {why}");
    }
    for wanted in ["An installation on simulated hosts: three-nodes", "kubeconfig-single-node"] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}
