//! Why a server of a test is not there.

use std::io;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "PostgreSQL is not installed (no /usr/lib/postgresql/*/bin/initdb, none in PATH): run `cargo xtask setup`"
    )]
    Missing,
    #[error("{program} is not installed: run `cargo xtask setup`")]
    NotInstalled { program: &'static str },
    #[error("{program} can't be run")]
    Run { program: &'static str, source: io::Error },
    #[error("{program} failed: {output}")]
    Failed { program: &'static str, output: String },
    #[error("it does not answer: {log}")]
    Silent { log: String },
    #[error("no temporary directory")]
    Directory(#[from] io::Error),
    #[error("no certificates: {0}")]
    Certificate(Box<dyn std::error::Error + Send + Sync>),
    #[error("the shared server did not start: {0}")]
    Shared(String),
}
