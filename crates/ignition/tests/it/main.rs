//! Discovery configs against Ignition's own judge, and their scripts on folders.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod discovery;
mod overrides;
mod scripts;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What Ignition itself says of a config; Debian's package `ignition` brings its judge.
fn judge(config: &[u8]) -> Result<(), String> {
    const PROGRAM: &str = "/usr/bin/ignition-validate";
    assert!(Path::new(PROGRAM).is_file(), "{PROGRAM} is missing: run `cargo xtask setup`");
    let mut child = Command::new(PROGRAM)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(config).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told).into_owned();
    if output.status.success() { Ok(()) } else { Err(told) }
}
