//! A layer: an archive, packed with gzip. The same files give the same bytes: nothing of the machine or of the moment goes in.

use std::fs::File;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use crate::Blob;

/// When all files were written, as far as a layer tells: a moment that was chosen once.
const WRITTEN: u64 = 1_700_000_000;

/// How much time packing may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// For what is used once.
    Quick,
    /// For what is shipped.
    Small,
}

/// A layer that is being made.
pub struct Layer {
    /// The archive is known by its own digest as well as by that of the packed one.
    archive: Builder<Hashing<GzEncoder<Hashing<File>>>>,
}

/// Counts and hashes what is written.
struct Hashing<W> {
    to: W,
    hash: Sha256,
    size: u64,
}

impl<W: Write> Hashing<W> {
    fn new(to: W) -> Self {
        Self { to, hash: Sha256::new(), size: 0 }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Layer {
    /// An empty layer; what it becomes is kept on disk.
    pub fn new() -> io::Result<Self> {
        Self::packed(Packing::Quick)
    }

    /// The same, with more or less time for packing.
    pub fn packed(packing: Packing) -> io::Result<Self> {
        let level = match packing {
            Packing::Quick => Compression::fast(),
            Packing::Small => Compression::best(),
        };
        let packed = GzEncoder::new(Hashing::new(tempfile::tempfile()?), level);
        Ok(Self { archive: Builder::new(Hashing::new(packed)) })
    }

    /// Adds a file that may be run.
    pub fn file(self, path: &str, content: &[u8]) -> io::Result<Self> {
        self.file_from(path, content, content.len() as u64)
    }

    /// Adds a file of a known length that is read as it is packed.
    pub fn file_from(self, path: &str, content: impl Read, size: u64) -> io::Result<Self> {
        self.file_with(path, 0o755, content, size)
    }

    /// The same, with its permissions.
    pub fn file_with(mut self, path: &str, mode: u32, content: impl Read, size: u64) -> io::Result<Self> {
        let mut header = Header::new_gnu();
        header.set_size(size);
        header.set_mode(mode);
        header.set_mtime(WRITTEN);
        self.archive.append_data(&mut header, path, content)?;
        Ok(self)
    }

    /// Adds an empty folder, with its permissions and the number of its owner, whose group is root's.
    pub fn folder(mut self, path: &str, mode: u32, owner: u64) -> io::Result<Self> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Directory);
        header.set_size(0);
        header.set_mode(mode);
        header.set_uid(owner);
        header.set_mtime(WRITTEN);
        self.archive.append_data(&mut header, format!("{}/", path.trim_end_matches('/')), io::empty())?;
        Ok(self)
    }

    /// Adds a symbolic link.
    pub fn symlink(mut self, path: &str, target: &str) -> io::Result<Self> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Symlink);
        header.set_size(0);
        self.archive.append_link(&mut header, path, target)?;
        Ok(self)
    }

    /// The finished layer.
    pub fn finish(self) -> io::Result<Blob> {
        let Hashing { to: packed, hash: content, .. } = self.archive.into_inner()?;
        let Hashing { to: file, hash, size } = packed.finish()?;
        Ok(Blob::new(file, &hash.finalize(), size).unpacked(&content.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_digest() {
        let made = |mode| {
            let layer = Layer::packed(Packing::Small).unwrap().file_with("a", mode, &b"1"[..], 1).unwrap();
            layer.folder("data", 0o775, 1001).unwrap().symlink("b", "a").unwrap().finish().unwrap()
        };
        assert_eq!(made(0o644).digest, made(0o644).digest);
        assert_ne!(made(0o644).digest, made(0o755).digest);
    }
}
