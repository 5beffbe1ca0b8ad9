//! The ISO 9660 file system of an image: what is where, without its contents.
//!
//! Read once per image, with bounds on everything that the image itself says: depth, number of records, sizes, chains.

mod directory;
pub mod eltorito;
pub(crate) mod lookup;
pub(crate) mod record;
pub(crate) mod susp;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::read::ReadAt;
use eltorito::Catalog;

/// Bytes in a sector; all offsets on the medium are multiples of it.
pub const SECTOR: u64 = 2048;
/// The system area: not part of the file system; MBR, GPT and embed headers live there.
pub const SYSTEM_AREA: u64 = 16 * SECTOR;
/// Descriptors after which the list must have ended.
const MAX_DESCRIPTORS: u64 = 64;

/// Place of a node in [`Iso::nodes`].
pub type Index = usize;

/// A file or directory.
#[derive(Debug, Clone)]
pub struct Node {
    /// Rock Ridge name; without one, the identifier in lower case and without its version.
    pub name: String,
    /// The directory that it is in; the root is in itself.
    pub(crate) parent: Index,
    /// Name in the primary tree, as it stands there (`IGNINFO.JSO;1`).
    pub(crate) identifier: Vec<u8>,
    pub(crate) has_rock_ridge_name: bool,
    /// Flags of the record that are kept: hidden, directory.
    pub(crate) flags: u8,
    pub(crate) recorded: [u8; 7],
    pub(crate) attributes: Vec<susp::Entry>,
    /// Byte ranges on the medium, in order; adjacent ones are one.
    pub extents: Vec<Range<u64>>,
    /// Of a directory, its entries in the order on the medium; `None` for a file.
    pub children: Option<Vec<Index>>,
}

impl Node {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.extents.iter().map(|extent| extent.end - extent.start).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn is_directory(&self) -> bool {
        self.children.is_some()
    }

    /// Where the bytes `range` of this file are on the medium: they must lie in one piece.
    pub fn place(&self, range: Range<u64>) -> Option<Range<u64>> {
        let mut before = 0;
        for extent in &self.extents {
            let len = extent.end - extent.start;
            if range.start >= before && range.end <= before + len && range.start <= range.end {
                return Some(extent.start + (range.start - before)..extent.start + (range.end - before));
            }
            before += len;
        }
        None
    }
}

/// What an image says about itself.
#[derive(Debug, Clone)]
pub struct Iso {
    /// Without the blanks at its end.
    pub volume_id: String,
    /// Length of the file system in bytes; a hybrid image is longer.
    pub len: u64,
    pub catalog: Option<Catalog>,
    /// The primary descriptor as it stands.
    pub(crate) descriptor: Vec<u8>,
    /// The extension references of Rock Ridge; empty when the image has none.
    pub(crate) extensions: Vec<susp::Entry>,
    /// All files and directories; the first is the root.
    nodes: Vec<Node>,
}

impl Iso {
    /// Reads the tree of `image`.
    ///
    /// # Errors
    /// When it is no ISO, is shorter than it says, or says what can't be.
    pub fn read(image: &dyn ReadAt) -> Result<Self> {
        let mut primary = None;
        let mut catalog = None;
        for number in 0..MAX_DESCRIPTORS {
            let descriptor = sector(image, SYSTEM_AREA / SECTOR + number)
                .map_err(|error| ended(error, "it ends before its descriptors"))?;
            if &descriptor[1..6] != b"CD001" {
                return Err(Error::iso("its volume descriptors have no CD001 signature"));
            }
            match descriptor[0] {
                0 if catalog.is_none() => catalog = eltorito::place(&descriptor),
                1 if primary.is_none() => primary = Some(descriptor),
                255 => break,
                _ => {}
            }
        }
        let descriptor = primary.ok_or_else(|| Error::iso("it has no primary volume descriptor"))?;
        if u16_both(&descriptor, 128) != 2048 {
            return Err(Error::iso("its sectors are not 2048 bytes long"));
        }
        let len = u64::from(u32_both(&descriptor, 80)) * SECTOR;
        if len > image.size() {
            return Err(Error::Incomplete { size: image.size(), wanted: len });
        }
        let volume_id = String::from_utf8_lossy(&descriptor[40..72]).trim_end_matches([' ', '\0']).to_owned();
        let catalog = catalog.map(|sector| Catalog::read(image, sector)).transpose()?;
        let (nodes, extensions) = directory::read(image, &descriptor[156..190])?;
        Ok(Self { volume_id, len, catalog, descriptor, extensions, nodes })
    }

    pub const ROOT: Index = 0;

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn node(&self, index: Index) -> &Node {
        &self.nodes[index]
    }
}

/// A number of a sector.
fn sector(image: &dyn ReadAt, number: u64) -> std::io::Result<Vec<u8>> {
    let mut sector = vec![0; SECTOR as usize];
    image.read_exact_at(&mut sector, number * SECTOR)?;
    Ok(sector)
}

/// An end of file at a place where an image can't end is a fault of the image, not of the disk.
fn ended(error: std::io::Error, reason: &str) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::iso(reason),
        _ => Error::Io(error),
    }
}

/// A number that is stored in both byte orders: the little-endian half.
pub(crate) fn u32_both(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn u16_both(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}
