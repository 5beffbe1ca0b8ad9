//! Programs of the host, also for a process that runs in a container on it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Cmd;

/// Where the host's programs are found.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    dir: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    with_processes: bool,
}

impl Tools {
    /// All in one directory, instead of where `PATH` says.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: Some(dir.into()), ..Self::default() }
    }

    /// Variables that each program gets besides those of this one.
    pub fn env(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        self.env.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Enters the host's namespace of processes too, and not that of its network, which containers of installers share
    /// (installer-and-controller §0).
    pub fn with_processes(mut self) -> Self {
        self.with_processes = true;
        self
    }

    /// A program of the host, in its namespaces.
    pub fn cmd(&self, program: &str) -> Cmd {
        let cmd = Cmd::new(self.path(program)).on_host();
        let cmd = if self.with_processes { cmd.with_processes() } else { cmd };
        self.env.iter().fold(cmd, |cmd, (name, value)| cmd.env(name, value))
    }

    /// A program beside this one, in its own namespaces.
    pub fn own(&self, program: &str) -> Cmd {
        Cmd::new(self.path(program))
    }

    fn path(&self, program: &str) -> PathBuf {
        match (&self.dir, Path::new(program).file_name()) {
            (Some(dir), Some(name)) => dir.join(name),
            _ => program.into(),
        }
    }
}
