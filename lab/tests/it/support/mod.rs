//! What the tests of the lab share.

pub mod ignition;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use assisted_lab_machines::image::{Image, Kind};
use assisted_lab_tools::wait::{Wait, child};
use assisted_testkit::tied_program;

/// How long a command may take; some fetch an image.
const COMMAND: Duration = Duration::from_secs(10 * 60);

/// How long an installation may take: CI gives an hour and a half to everything.
pub const INSTALLATION: Duration = Duration::from_secs(70 * 60);

/// The image that `cargo xtask setup` has built.
pub fn image() -> Image {
    Image::find(Kind::Plain).unwrap()
}

/// `coreos-installer` with arguments; it must succeed.
pub fn coreos_installer<const N: usize>(arguments: [&str; N]) -> Vec<u8> {
    run(Command::new(assisted_testkit::coreos_installer().unwrap()).args(arguments)).stdout
}

/// Runs a command, which must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = output(command, COMMAND);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Runs a command to its end, within a limit.
pub fn output(command: &mut Command, limit: Duration) -> Output {
    let program = tied_program(command).display().to_string();
    let mut wait = Wait::new(program, "its output, which is shown at its end", limit);
    child::output(command, &mut wait).unwrap()
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Whether `kubectl get nodes` has told of a node, and that it is ready.
pub fn has_node(told: &str, name: &str) -> bool {
    told.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(name) && words.next() == Some("Ready")
    })
}

/// The end of a machine's console, for whoever reads why a test failed.
pub fn console(dir: &Path) -> String {
    let path = dir.join("console.log");
    let console = std::fs::read(&path).unwrap_or_default();
    let tail = &console[console.len().saturating_sub(3000)..];
    format!("\nthe end of {}:\n{}", path.display(), String::from_utf8_lossy(tail))
}
