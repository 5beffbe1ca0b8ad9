//! What is known of a file without reading it.

use std::{fs, io};

use jiff::Timestamp;

/// Size and time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// In bytes.
    pub size: u64,
    /// When it was put.
    pub modified_at: Timestamp,
}

impl Object {
    pub(crate) fn of(metadata: &fs::Metadata) -> io::Result<Self> {
        let modified_at = Timestamp::try_from(metadata.modified()?).map_err(io::Error::other)?;
        Ok(Self { size: metadata.len(), modified_at })
    }
}
