//! A layer: an archive, packed with gzip.

use std::fs::File;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use crate::Blob;

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
        let file = tempfile::tempfile()?;
        let packed = GzEncoder::new(Hashing::new(file), Compression::fast());
        Ok(Self { archive: Builder::new(Hashing::new(packed)) })
    }

    /// Adds a file.
    pub fn file(self, path: &str, content: &[u8]) -> io::Result<Self> {
        self.file_from(path, content, content.len() as u64)
    }

    /// Adds a file of a known length that is read as it is packed.
    pub fn file_from(mut self, path: &str, content: impl Read, size: u64) -> io::Result<Self> {
        let mut header = Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o755);
        header.set_mtime(1_700_000_000);
        self.archive.append_data(&mut header, path, content)?;
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
