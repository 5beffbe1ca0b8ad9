//! The product's command line, used as a person uses it, inside the lab's network.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{LabError, say, service};
use crate::network::{self, Network};

pub(super) struct CommandLine {
    program: PathBuf,
    dir: PathBuf,
    namespace: String,
}

impl CommandLine {
    pub(super) fn new(program: &Path, dir: &Path, network: &Network) -> Self {
        Self { program: program.to_owned(), dir: dir.to_owned(), namespace: network.name().to_owned() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = network::inside(&self.namespace, &self.program);
        command.args(["--url", service::URL]).args(words).current_dir(&self.dir).stdin(Stdio::null());
        command
    }

    /// Runs a command that people see.
    pub(super) fn show(&self, words: &[&str]) -> Result<(), LabError> {
        say(&format!("\n$ assisted {}", words.join(" ")));
        run(&words.join(" "), &mut self.command(words))
    }

    /// Starts a command that people see.
    pub(super) fn start(&self, words: &[&str]) -> Result<Child, LabError> {
        say(&format!("\n$ assisted {}", words.join(" ")));
        self.command(words).spawn().map_err(LabError::io(&self.program))
    }

    /// What a command answers.
    pub(super) fn json(&self, words: &[&str]) -> Result<Value, LabError> {
        let output =
            self.command(words).args(["-o", "json"]).output().map_err(LabError::io(&self.program))?;
        let failed = |said: String| LabError::Command { command: words.join(" "), said };
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }
}

/// Runs a command to its end, before everybody's eyes.
pub(super) fn run(what: &str, command: &mut Command) -> Result<(), LabError> {
    let program = PathBuf::from(command.get_program());
    let status = command.status().map_err(LabError::io(&program))?;
    match status.success() {
        true => Ok(()),
        false => Err(LabError::Command { command: what.to_owned(), said: status.to_string() }),
    }
}
