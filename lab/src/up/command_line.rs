//! The product's command line, used as a person uses it, inside the lab's network.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::program::{self, run};
use super::{LabError, say, service, tls};
use crate::network::{self, Network};

/// Where the administrator's token is kept, in the lab's folder.
pub(super) const CONFIG: &str = "config";
/// Names the folder in which `assisted` keeps the token of whoever gives its orders.
const CONFIG_HOME: &str = "XDG_CONFIG_HOME";

pub(super) struct CommandLine {
    program: PathBuf,
    dir: PathBuf,
    namespace: String,
    /// Where the token of whoever gives the orders is kept, in the lab's folder.
    config: &'static str,
}

impl CommandLine {
    /// That of the administrator.
    pub(super) fn new(program: &Path, dir: &Path, network: &Network) -> Self {
        let namespace = network.name().to_owned();
        Self { program: program.to_owned(), dir: dir.to_owned(), namespace, config: CONFIG }
    }

    /// That of somebody else, whose token is kept in another folder.
    pub(super) fn of(&self, config: &'static str) -> Self {
        let (program, dir, namespace) = (self.program.clone(), self.dir.clone(), self.namespace.clone());
        Self { program, dir, namespace, config }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = network::inside(&self.namespace, &self.program);
        command.envs(environment(&self.dir)).env(CONFIG_HOME, self.dir.join(self.config));
        command.args(words).current_dir(&self.dir).stdin(Stdio::null());
        command
    }

    /// Runs a command that people see.
    pub(super) fn show(&self, words: &[&str]) -> Result<(), LabError> {
        say(&format!("\n$ assisted {}", words.join(" ")));
        run(&words.join(" "), &mut self.command(words), &self.dir)
    }

    /// Runs a command that people see, with the token that a file in the lab's folder has.
    pub(super) fn show_with_token(&self, file: &str, words: &[&str]) -> Result<(), LabError> {
        let path = self.dir.join(file);
        let token = std::fs::read_to_string(&path).map_err(LabError::io(&path))?;
        let what = words.join(" ");
        say(&format!("\n$ ASSISTED_TOKEN=$(cat {file}) assisted {what}"));
        run(&what, self.command(words).env("ASSISTED_TOKEN", token), &self.dir)
    }

    /// Runs a command that reads a file.
    pub(super) fn run(&self, words: &[&str], input: File) -> Result<(), LabError> {
        let what = words.first().copied().unwrap_or_default();
        run(what, self.command(words).stdin(input), &self.dir)
    }

    /// Starts a command that people see.
    pub(super) fn start(&self, words: &[&str]) -> Result<Child, LabError> {
        say(&format!("\n$ assisted {}", words.join(" ")));
        self.command(words).spawn().map_err(LabError::io(&self.program))
    }

    /// The JSON that a command prints.
    pub(super) fn json(&self, words: &[&str]) -> Result<Value, LabError> {
        program::json(&words.join(" "), &mut self.command(words), &self.dir)
    }
}

/// What `assisted` needs to know to give the orders of a lab's administrator.
pub(super) fn environment(dir: &Path) -> [(&'static str, PathBuf); 3] {
    [
        ("ASSISTED_URL", service::URL.into()),
        ("ASSISTED_CA_FILE", dir.join(tls::CA)),
        (CONFIG_HOME, dir.join(CONFIG)),
    ]
}
