//! The hash by which a report's text is known.

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::value::Row;

/// SHA-256 of a report's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReportHash(pub [u8; 32]);

impl ReportHash {
    /// The hash of a text.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    pub(crate) fn read(row: &Row, index: usize) -> Result<Self, Error> {
        let bytes = row.bytes(index)?.try_into();
        bytes.map(Self).map_err(|_| Error::Corrupt("a hash has not 32 bytes".to_owned()))
    }
}
