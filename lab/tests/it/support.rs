//! What the tests of the lab share.

use std::path::Path;
use std::process::{Command, Output};

use assisted_lab::image::Image;

/// The image that `cargo xtask setup` has built.
pub fn image() -> Image {
    Image::find().unwrap()
}

/// `coreos-installer` with arguments; it must succeed.
pub fn coreos_installer<const N: usize>(arguments: [&str; N]) -> Vec<u8> {
    run(Command::new(assisted_testkit::coreos_installer().unwrap()).args(arguments)).stdout
}

/// Runs a command, which must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
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
