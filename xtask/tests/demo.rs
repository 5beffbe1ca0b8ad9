//! The demo where virtual machines can't be had: what works is shown, what doesn't is said, and nobody takes it for a success.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use assisted_lab_tools::wait::{Wait, child};

/// How long the demo may take, with what is to be built of its programs.
const LIMIT: Duration = Duration::from_secs(20 * 60);

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
    let [said, why] = ["said", "why"].map(|name| dir.join(name));
    let mut demo = Command::new(env!("CARGO_BIN_EXE_xtask"));
    demo.args(["demo", "--once"]).env("PATH", path).stdin(Stdio::null());
    demo.stdout(File::create(&said).unwrap()).stderr(File::create(&why).unwrap());
    let status =
        child::status(&mut demo, &mut Wait::new("the end of the demo", dir.display(), LIMIT)).unwrap();
    let [said, why] = [said, why].map(|path| std::fs::read_to_string(path).unwrap());
    assert_eq!(status.code(), Some(1), "{said}\n{why}");
    for wanted in ["no virtual machines: ", "the mirror does not answer", "exit status: 7", "--simulated"] {
        assert!(why.contains(wanted), "{wanted}: {why}");
    }
    for wanted in ["An installation on simulated hosts: three-nodes", "kubeconfig-single-node"] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}
