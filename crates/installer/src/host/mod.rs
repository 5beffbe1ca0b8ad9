//! The machine that is installed: its files, its programs, and what an earlier attempt has left on it.
//!
//! Files are read and written natively, also from a container: there the machine's tree lies below the first process's
//! root. Programs go through [`assisted_base::process::Cmd`] alone. Both are injectable, so that a test is a machine of its own.

mod attempt;
mod device;
mod files;
mod leftover;
mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_base::process::Tools;

pub use attempt::{Attempt, AttemptError};
pub use files::FileError;
pub(crate) use leftover::WRITER;
pub use run::RunError;
pub(crate) use run::finish;

/// Where what is needed for an installation is kept.
pub const INSTALL_DIR: &str = "/opt/install-dir";

/// A machine.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
    tools: Tools,
    /// No program runs longer, whatever it may.
    longest: Duration,
    contained: bool,
}

impl Host {
    /// The machine that this program runs on, also where it does so in a container; programs get these variables in
    /// addition.
    pub fn live(env: impl IntoIterator<Item = (String, String)>) -> Self {
        let contained = assisted_base::process::is_contained();
        Self {
            root: if contained { "/proc/1/root" } else { "/" }.into(),
            tools: Tools::default().with_processes().env(env),
            longest: Duration::MAX,
            contained,
        }
    }

    /// A tree and programs that stand for a machine.
    pub fn at(root: impl Into<PathBuf>, tools: Tools) -> Self {
        Self { root: root.into(), tools, longest: Duration::MAX, contained: false }
    }

    /// No program runs longer than this.
    pub fn longest_run(mut self, limit: Duration) -> Self {
        self.longest = limit;
        self
    }

    /// The machine's programs.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Where this program finds a file of the machine.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Whether this program runs in a container on the machine.
    pub(crate) fn is_contained(&self) -> bool {
        self.contained
    }
}
