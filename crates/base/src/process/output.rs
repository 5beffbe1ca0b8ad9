//! What a program left behind, or why there is nothing.

use std::process::ExitStatus;
use std::time::Duration;

/// Longest text of a program that an error repeats, in bytes.
const LONGEST_COMPLAINT: usize = 512;

/// What a program left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CmdOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output; with [`Cmd::merged`](super::Cmd::merged) also what it wrote to standard error.
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl CmdOutput {
    /// Exit status; -1 when a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Standard output as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// What it says about itself for an error: standard error, or else standard output, cut where it is long.
    pub fn complaint(&self) -> String {
        let text = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        String::from_utf8_lossy(&text[..text.len().min(LONGEST_COMPLAINT)]).trim().to_owned()
    }

    /// Whether the program reported success.
    pub fn success(&self) -> bool {
        self.status.success()
    }
}

/// Why a program brought no result.
#[derive(Debug, thiserror::Error)]
pub enum CmdError {
    #[error("{program} can't be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{program} was timed out after {} seconds", limit.as_secs_f64())]
    Timeout { program: String, limit: Duration },
    #[error("{program} wrote more than {limit} bytes")]
    TooLong { program: String, limit: usize },
    #[error("{program}: {source}")]
    Io { program: String, source: std::io::Error },
}
