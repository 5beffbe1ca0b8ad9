//! The errors of this crate.

use std::io;

use crate::key::Key;

/// The kind of errors of a bucket whose server can't be reached, or says to come again; a folder has none like it.
pub(crate) const AWAY: io::ErrorKind = io::ErrorKind::HostUnreachable;

/// A file can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no file {0}")]
    NotFound(Key),
    #[error("file {key} has more than {limit} bytes")]
    TooLarge { key: Key, limit: u64 },
    #[error("file {0} stands where a folder is, or the other way round")]
    Shadowed(Key),
    #[error("file {key} can't be {what}")]
    Io { key: Key, what: &'static str, source: io::Error },
    #[error("the directory of files can't be opened")]
    Open(#[source] io::Error),
    #[error("the runtime is stopping")]
    Stopped,
}

impl Error {
    /// Whether the disk is full: the same succeeds once there is room.
    pub fn is_full(&self) -> bool {
        let Self::Io { source, .. } = self else { return false };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Whether files can't be reached for now: the same succeeds once the bucket's server is back.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == AWAY)
    }

    /// The error of a file operation.
    pub(crate) fn of(key: &Key, what: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound(key.clone()),
            io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => Self::Shadowed(key.clone()),
            // A folder can't be replaced by a file; on other systems `IsADirectory`.
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => Self::Shadowed(key.clone()),
            _ => Self::Io { key: key.clone(), what, source },
        }
    }
}
