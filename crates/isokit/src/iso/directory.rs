//! The directory tree: records, sector by sector.

use std::collections::HashSet;
use std::ops::Range;

use super::record::{self, Record};
use super::{Index, Node, SECTOR, susp};
use crate::error::{Error, Result};
use crate::read::ReadAt;

/// Directories inside one another. The standard allows 8, Rock Ridge images have more.
const MAX_DEPTH: usize = 32;
/// Files and directories of an image; a live ISO has about fifty, one with a registry inside has thousands.
const MAX_NODES: usize = 1 << 15;
/// Bytes of all directories together.
const MAX_DIRECTORY_BYTES: u64 = 64 << 20;

/// Reads the tree whose root has the record `root`; the result is it and the root's extension references.
pub fn read(image: &dyn ReadAt, root: &[u8]) -> Result<(Vec<Node>, Vec<susp::Entry>)> {
    let record = Record::parse(root)?;
    if !record.is_directory() {
        return Err(Error::iso("its root is no directory"));
    }
    let mut reader = Reader {
        image,
        skip: None,
        extensions: Vec::new(),
        nodes: vec![Node {
            name: String::new(),
            parent: super::Iso::ROOT,
            identifier: vec![0],
            has_rock_ridge_name: false,
            flags: record::DIRECTORY,
            recorded: record.recorded,
            attributes: Vec::new(),
            extents: vec![record.extent],
            children: Some(Vec::new()),
        }],
        seen: HashSet::new(),
        bytes: 0,
    };
    let mut level = vec![0];
    for _ in 0..MAX_DEPTH {
        let mut below = Vec::new();
        for directory in level {
            below.extend(reader.directory(directory)?);
        }
        if below.is_empty() {
            return Ok((reader.nodes, reader.extensions));
        }
        level = below;
    }
    Err(Error::iso(format!("its directories are nested deeper than {MAX_DEPTH}")))
}

struct Reader<'a> {
    image: &'a dyn ReadAt,
    /// Bytes that system use areas begin with; `None` when the image has no such areas.
    skip: Option<usize>,
    extensions: Vec<susp::Entry>,
    nodes: Vec<Node>,
    /// Where the directories lie that were read: none stands in two places.
    seen: HashSet<u64>,
    bytes: u64,
}

impl Reader<'_> {
    /// Reads the entries of a directory; the result is those that are directories themselves.
    fn directory(&mut self, index: Index) -> Result<Vec<Index>> {
        let mut below = Vec::new();
        let mut children = Vec::new();
        let extents = self.nodes[index].extents.clone();
        // The first record of a file of several extents makes the node, the others lengthen it.
        let mut open: Option<Index> = None;
        for extent in extents {
            let bytes = self.load(&extent)?;
            for sector in bytes.chunks(SECTOR as usize) {
                let mut rest = sector;
                while rest.first().is_some_and(|len| *len != 0) {
                    let record = Record::parse(rest)?;
                    rest = &rest[usize::from(rest[0])..];
                    if record.is_dot() {
                        self.dot(index, &record)?;
                        continue;
                    }
                    let more = record.flags & record::MULTI_EXTENT != 0;
                    if let Some(node) = open {
                        self.lengthen(node, &record)?;
                    } else {
                        let node = self.add(&record, index)?;
                        children.push(node);
                        if record.is_directory() {
                            below.push(node);
                        }
                        open = Some(node);
                    }
                    if !more {
                        open = None;
                    }
                }
            }
        }
        self.nodes[index].children = Some(children);
        Ok(below)
    }

    fn load(&mut self, extent: &Range<u64>) -> Result<Vec<u8>> {
        let len = extent.end - extent.start;
        self.bytes += len;
        if self.bytes > MAX_DIRECTORY_BYTES {
            return Err(Error::iso(format!("its directories have more than {MAX_DIRECTORY_BYTES} bytes")));
        }
        // A zero-length directory would be no extent: nothing to see twice.
        if len > 0 && !self.seen.insert(extent.start) {
            return Err(Error::iso("a directory stands in two places"));
        }
        if extent.end > self.image.size() {
            return Err(Error::iso("a directory lies outside"));
        }
        let mut bytes = vec![0; len as usize];
        self.image.read_exact_at(&mut bytes, extent.start)?;
        Ok(bytes)
    }

    /// The root's record of itself tells whether there are system use entries, and which.
    fn dot(&mut self, index: Index, record: &Record<'_>) -> Result<()> {
        if index != super::Iso::ROOT || record.identifier != [0] {
            return Ok(());
        }
        self.skip = susp::skip(record.system_use);
        if self.skip.is_some() {
            // This one record has its entries from the very beginning.
            let (extensions, attributes) = susp::entries(self.image, record.system_use, 0)?
                .into_iter()
                .partition(|entry| &entry.signature == b"ER");
            self.extensions = extensions;
            self.nodes[index].attributes = kept(attributes);
        }
        Ok(())
    }

    fn add(&mut self, record: &Record<'_>, parent: Index) -> Result<Index> {
        if self.nodes.len() >= MAX_NODES {
            return Err(Error::iso(format!("it has more than {MAX_NODES} files")));
        }
        let entries = match self.skip {
            Some(skip) => susp::entries(self.image, record.system_use, skip)?,
            None => Vec::new(),
        };
        if entries.iter().any(|entry| matches!(&entry.signature, b"CL" | b"RE")) {
            return Err(Error::iso("it has relocated directories"));
        }
        let rock_ridge_name = susp::name(&entries)?;
        self.nodes.push(Node {
            parent,
            has_rock_ridge_name: rock_ridge_name.is_some(),
            name: rock_ridge_name.unwrap_or_else(|| plain_name(record.identifier)),
            identifier: record.identifier.to_vec(),
            flags: record.flags & record::KEPT,
            recorded: record.recorded,
            attributes: kept(entries),
            extents: self.inside(record)?,
            children: record.is_directory().then(Vec::new),
        });
        Ok(self.nodes.len() - 1)
    }

    fn lengthen(&mut self, index: Index, record: &Record<'_>) -> Result<()> {
        let extents = self.inside(record)?;
        let node = &mut self.nodes[index];
        if node.identifier != record.identifier || node.is_directory() || record.is_directory() {
            return Err(Error::iso("a file of several extents is cut off"));
        }
        for extent in extents {
            match node.extents.last_mut() {
                Some(last) if last.end == extent.start => last.end = extent.end,
                _ => node.extents.push(extent),
            }
        }
        Ok(())
    }

    /// The record's extent, if it is on the medium; none for an empty file, whatever its record says.
    fn inside(&self, record: &Record<'_>) -> Result<Vec<Range<u64>>> {
        if record.extent.is_empty() {
            return Ok(Vec::new());
        }
        if record.extent.end > self.image.size() {
            return Err(Error::Incomplete { size: self.image.size(), wanted: record.extent.end });
        }
        Ok(vec![record.extent.clone()])
    }
}

/// Entries about names and the medium's structure, which are made anew when it is written, and foreign attributes, which
/// may tell places.
const STRUCTURE: [&[u8; 2]; 8] = [b"SP", b"NM", b"RR", b"PL", b"PD", b"ES", b"AA", b"AL"];

/// What describes the file itself.
fn kept(entries: Vec<susp::Entry>) -> Vec<susp::Entry> {
    entries.into_iter().filter(|entry| !STRUCTURE.contains(&&entry.signature)).collect()
}

/// `IGNINFO.JSO;1` as people would write it.
fn plain_name(identifier: &[u8]) -> String {
    let name = identifier.split(|byte| *byte == b';').next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    name.strip_suffix('.').map(str::to_owned).unwrap_or(name)
}
