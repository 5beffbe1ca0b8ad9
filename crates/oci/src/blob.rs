//! Parts of images, known by their digests.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use assisted_base::hex;
use sha2::{Digest, Sha256};

/// A part of an image, kept on disk without a name.
#[derive(Clone, Debug)]
pub struct Blob {
    file: Arc<File>,
    /// `sha256:…`
    pub digest: String,
    /// Bytes.
    pub size: u64,
    /// The digest of what is packed in a layer.
    pub(crate) content: String,
}

impl Blob {
    pub(crate) fn new(file: File, digest: &[u8], size: u64) -> Self {
        Self { file: Arc::new(file), digest: name(digest), size, content: String::new() }
    }

    pub(crate) fn unpacked(mut self, digest: &[u8]) -> Self {
        self.content = name(digest);
        self
    }

    pub(crate) fn of(bytes: &[u8]) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        Ok(Self::new(file, &Sha256::digest(bytes), bytes.len() as u64))
    }

    /// Its bytes, from the first on. One reader at a time: clones share a place in the file.
    pub(crate) fn read(&self) -> io::Result<impl Read> {
        let mut file = self.file.as_ref();
        file.seek(SeekFrom::Start(0))?;
        Ok(file.take(self.size))
    }
}

/// The name of a digest.
pub(crate) fn name(digest: &[u8]) -> String {
    format!("sha256:{}", hex::encode(digest))
}
