//! Why a command failed, and how the process says so.

use std::io::Write;
use std::process::ExitCode;

use assisted_base::error::chain;
use assisted_client::Error;

use crate::printable::printable;

/// Why a command failed; its exit code tells scripts what kind of failure it was.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Exit code 1.
    #[error("{0}")]
    Refused(String),
    /// Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Exit code 3.
    #[error("{0}")]
    Unreachable(String),
}

impl Failure {
    /// [`Failure::Refused`] with the text of an error and of all its causes.
    pub fn refused(error: impl std::error::Error + 'static) -> Self {
        Self::Refused(chain(&error))
    }

    /// Writes the failure on standard error, after the name of the program: the process's exit code.
    pub fn report(&self, program: &str) -> ExitCode {
        let _ = writeln!(std::io::stderr(), "{program}: {}", printable(&self.to_string()));
        ExitCode::from(match self {
            Self::Refused(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable(_) => 3,
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut text = error.to_string();
        if let Some(remedy) = error.remedy() {
            text = format!("{text}\n{remedy}");
        }
        if let Some(section) = error.section() {
            text = format!("{text}\n`assisted explain {section}` tells what that means and what to do");
        }
        match error {
            Error::Unreachable { .. } => Self::Unreachable(text),
            Error::Argument { .. } => Self::Usage(text),
            _ => Self::Refused(text),
        }
    }
}
