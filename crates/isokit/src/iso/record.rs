//! One directory record: 33 bytes, the identifier, and the system use area (ECMA-119 §9.1).

use std::ops::Range;

use super::{SECTOR, u32_both};
use crate::error::{Error, Result};

/// Bytes before the identifier.
pub const HEAD: usize = 33;
pub const DIRECTORY: u8 = 1 << 1;
pub const MULTI_EXTENT: u8 = 1 << 7;
/// The bits that describe the file and not the record's place among others: hidden, directory, associated.
pub const KEPT: u8 = 0b111;

/// A record in its sector.
pub struct Record<'a> {
    pub flags: u8,
    pub recorded: [u8; 7],
    pub extent: Range<u64>,
    pub identifier: &'a [u8],
    pub system_use: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the record at the beginning of `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let len = usize::from(*bytes.first().unwrap_or(&0));
        let record = bytes
            .get(..len)
            .filter(|record| record.len() > HEAD)
            .ok_or_else(|| Error::iso("a directory record is cut off"))?;
        if record[26] != 0 || record[27] != 0 {
            return Err(Error::iso("it holds an interleaved file"));
        }
        let name_len = usize::from(record[32]);
        let identifier = record
            .get(HEAD..HEAD + name_len)
            .filter(|identifier| !identifier.is_empty())
            .ok_or_else(|| Error::iso("a directory record has no name"))?;
        // The identifier is padded so that the system use area begins at an even place.
        let after = HEAD + name_len + (1 - name_len % 2);
        // An extended attribute record stands before the data.
        let start = (u64::from(u32_both(record, 2)) + u64::from(record[1])) * SECTOR;
        let mut recorded = [0; 7];
        recorded.copy_from_slice(&record[18..25]);
        Ok(Self {
            flags: record[25],
            recorded,
            extent: start..start + u64::from(u32_both(record, 10)),
            identifier,
            system_use: record.get(after..).unwrap_or_default(),
        })
    }

    pub fn is_directory(&self) -> bool {
        self.flags & DIRECTORY != 0
    }

    /// The entries for the directory itself and its parent.
    pub fn is_dot(&self) -> bool {
        matches!(self.identifier, [0 | 1])
    }
}
