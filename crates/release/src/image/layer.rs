//! The search for files in the layers of an image, from the top down.
//!
//! A layer is an archive that is read once, while it arrives. It may hold a wanted file; a link that leads elsewhere; or the
//! mark that the file, or a folder above it, was deleted in this layer. Long names are read here and not by the archive's
//! reader, which puts no limit on them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use tar::{Archive, Entry, EntryType, PaxExtensions};
use tokio::sync::mpsc::Receiver;

use super::sink::{Sink, unreadable};
use crate::error::RegistryError;

/// Longest name in an archive, with what stands around it, in bytes.
const LONGEST_NAME: u64 = 64 << 10;
/// So much a layer may unpack to, in bytes.
const LARGEST: u64 = 64 << 30;

const DELETED: &str = ".wh.";
const EMPTIED: &str = ".wh..wh..opq";

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// What is searched.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    wanted: Vec<WantedFile>,
    most_links: u8,
    /// The layer that is searched.
    level: usize,
}

#[derive(Clone, Debug)]
struct WantedFile {
    path: String,
    state: State,
    links: u8,
    /// Layers above this one are not searched for it.
    below: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Not found so far; with the mark that this layer has deleted it.
    Sought {
        deleted: bool,
    },
    /// In this layer.
    Found(usize),
    /// The layer has it under another name: in the same layer, or looked for from the top.
    Led {
        to: String,
        from_top: bool,
    },
    Gone,
}

impl Search {
    pub(crate) fn new(paths: &[&str], most_links: u8) -> Self {
        let wanted = paths.iter().map(|path| WantedFile {
            path: (*path).to_owned(),
            state: State::Sought { deleted: false },
            links: 0,
            below: usize::MAX,
        });
        Self { wanted: wanted.collect(), most_links, level: 0 }
    }

    /// Turns to a layer; whether it is to be searched.
    pub(crate) fn begin(&mut self, level: usize) -> bool {
        self.level = level;
        let sought =
            |wanted: &WantedFile| matches!(wanted.state, State::Sought { .. }) && level <= wanted.below;
        self.wanted.iter().any(sought)
    }

    /// Draws the conclusions from a layer. Where a link leads up again, the number of the layer below which to go on.
    pub(crate) fn finish(&mut self, layers: usize) -> Option<usize> {
        let (level, mut again) = (self.level, None);
        for wanted in &mut self.wanted {
            match std::mem::replace(&mut wanted.state, State::Gone) {
                State::Sought { deleted: true } => {}
                State::Led { to, from_top } if wanted.links < self.most_links => {
                    wanted.links += 1;
                    wanted.path = to;
                    wanted.state = State::Sought { deleted: false };
                    wanted.below = if from_top { layers } else { level };
                    again = again.max(Some(if from_top { layers } else { level + 1 }));
                }
                State::Led { .. } => {}
                other => wanted.state = other,
            }
        }
        again
    }

    /// Searches a layer as it arrives, to its end: whether its bytes are the right ones is known no sooner.
    pub(crate) fn unpack(
        &mut self,
        from: Receiver<Bytes>,
        sink: &mut impl Sink,
    ) -> Result<(), RegistryError> {
        let mut arriving = PieceReader { pieces: from, current: Bytes::new() };
        let searched = self.search(&mut arriving, sink);
        if !matches!(searched, Err(RegistryError::Disk(_) | RegistryError::TooLarge { .. })) {
            while arriving.pieces.blocking_recv().is_some() {}
        }
        searched
    }

    fn search(&mut self, arriving: &mut PieceReader, sink: &mut impl Sink) -> Result<(), RegistryError> {
        let mut reader = BufReader::with_capacity(64 << 10, arriving);
        let start = reader.fill_buf().map_err(|error| unreadable(&error))?;
        if start.starts_with(GZIP) {
            self.archive(MultiGzDecoder::new(reader), sink)
        } else if start.starts_with(ZSTD) {
            Err(RegistryError::Malformed("its layers are packed with zstd, gzip is needed".to_owned()))
        } else {
            self.archive(reader, sink)
        }
    }

    fn archive(&mut self, reader: impl Read, sink: &mut impl Sink) -> Result<(), RegistryError> {
        let failed = |error: io::Error| unreadable(&error);
        let mut archive = Archive::new(SizeLimit { reader, left: LARGEST });
        let mut long = LongNames::default();
        for entry in archive.entries().map_err(failed)?.raw(true) {
            let mut entry = entry.map_err(failed)?;
            if long.read(&mut entry).map_err(failed)? {
                continue;
            }
            let LongNames { name, link } = std::mem::take(&mut long);
            let name = name.unwrap_or_else(|| entry.path_bytes().into_owned());
            let Some(path) = plain(&name) else { continue };
            self.visit(&path, link.as_deref(), &mut entry, sink)?;
        }
        Ok(())
    }

    /// One entry of an archive.
    fn visit<R: Read>(
        &mut self,
        path: &str,
        link: Option<&[u8]>,
        entry: &mut Entry<'_, R>,
        sink: &mut impl Sink,
    ) -> Result<(), RegistryError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let hidden = if name == EMPTIED {
            Some(format!("{folder}/"))
        } else {
            name.strip_prefix(DELETED).map(|name| format!("{folder}/{name}"))
        };
        let kind = entry.header().entry_type();
        let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous);
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        for (which, wanted) in self.wanted.iter_mut().enumerate() {
            // Of two files with one name in a layer, the later one holds.
            let here = matches!(wanted.state, State::Sought { .. }) && self.level <= wanted.below;
            if !here && wanted.state != State::Found(self.level) {
                continue;
            }
            if let Some(hidden) = &hidden {
                let hidden = hidden.trim_start_matches('/');
                let rest = wanted.path.strip_prefix(hidden);
                let covers = rest.is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with('/') || hidden.is_empty() || hidden.ends_with('/')
                });
                if covers && let State::Sought { deleted } = &mut wanted.state {
                    *deleted = true;
                }
                continue;
            }
            let Some(rest) = wanted.path.strip_prefix(path) else { continue };
            if rest.is_empty() && is_file {
                let modified = entry.header().mtime().unwrap_or_default();
                sink.take(which, entry, modified)?;
                wanted.state = State::Found(self.level);
                // The entry is spent: a file is wanted once.
                return Ok(());
            }
            if is_link && (rest.is_empty() || rest.starts_with('/')) && here {
                let target =
                    link.map(<[u8]>::to_vec).or_else(|| entry.link_name_bytes().map(Cow::into_owned));
                let hard = kind == EntryType::Link;
                let base = if hard { "" } else { folder };
                let target = target.and_then(|target| resolve(base, &target));
                wanted.state = match target {
                    Some(target) => State::Led { to: format!("{target}{rest}"), from_top: !hard },
                    None => State::Gone,
                };
            }
        }
        Ok(())
    }
}

/// Names that don't fit into an entry stand in one before it.
#[derive(Default)]
struct LongNames {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl LongNames {
    /// Whether the entry was such a one.
    fn read<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> io::Result<bool> {
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => self.name = Some(text(entry)?),
            EntryType::GNULongLink => self.link = Some(text(entry)?),
            EntryType::XHeader => {
                let all = bounded(entry)?;
                for extension in PaxExtensions::new(&all) {
                    let extension = extension?;
                    match extension.key_bytes() {
                        b"path" => self.name = Some(extension.value_bytes().to_vec()),
                        b"linkpath" => self.link = Some(extension.value_bytes().to_vec()),
                        _ => {}
                    }
                }
            }
            EntryType::XGlobalHeader => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn text<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<Vec<u8>> {
    let mut text = bounded(entry)?;
    while text.last() == Some(&0) {
        text.pop();
    }
    Ok(text)
}

fn bounded<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<Vec<u8>> {
    if entry.size() > LONGEST_NAME {
        return Err(io::Error::other("a name in it is too long"));
    }
    let mut all = Vec::new();
    entry.read_to_end(&mut all)?;
    Ok(all)
}

/// A path from the root, without a slash in front; `None` for one that can't be wanted.
fn plain(path: &[u8]) -> Option<String> {
    resolve("", path).filter(|path| !path.is_empty())
}

/// Where a path leads that stands in a folder. No way leads out of the root.
fn resolve(folder: &str, path: &[u8]) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?;
    let folder = if path.starts_with('/') { "" } else { folder };
    let mut parts = VecDeque::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop_back();
            }
            part => parts.push_back(part),
        }
    }
    Some(Vec::from(parts).join("/"))
}

/// Pieces of a layer, read as they arrive.
struct PieceReader {
    pieces: Receiver<Bytes>,
    current: Bytes,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.current = piece,
                None => return Ok(0),
            }
        }
        let taken = self.current.split_to(buffer.len().min(self.current.len()));
        if let Some(place) = buffer.get_mut(..taken.len()) {
            place.copy_from_slice(&taken);
        }
        Ok(taken.len())
    }
}

/// Fails where too much comes out: a few bytes can be packed that never end.
struct SizeLimit<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for SizeLimit<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.left =
            self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other("it unpacks to too much"))?;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
