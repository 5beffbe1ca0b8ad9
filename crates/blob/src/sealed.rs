//! Files as they lie on the disk: sealed where there are keys, and as they were put by programs that had none.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use assisted_seal::file::{HEAD, Opener, PIECE, SEALED_PIECE, Sealer, key_of, plain_len};
use assisted_seal::{KeyId, Keyring, SealError};
use bytes::Bytes;

use crate::error::Error;
use crate::key::Key;
use crate::object::Object;

/// The place that a file is sealed for.
pub(crate) fn place(key: &Key) -> String {
    format!("files/{key}")
}

/// An error of sealing as one of the file system.
pub(crate) fn refused(error: SealError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// A whole content as it is written.
pub(crate) fn seal(keys: Option<&Keyring>, key: &Key, content: Bytes) -> io::Result<Bytes> {
    let Some(keys) = keys else { return Ok(content) };
    let mut sealer = Sealer::new(keys, &place(key)).map_err(refused)?;
    let mut sealed = sealer.push(&content).map_err(refused)?;
    sealed.append(&mut sealer.finish().map_err(refused)?);
    Ok(sealed.into())
}

/// A file to be read, in whichever form it is.
pub(crate) struct Stored {
    file: Arc<File>,
    /// What opens it; `None`: it is not sealed.
    opener: Option<Arc<Opener>>,
    /// With the size of the content.
    pub(crate) object: Object,
    /// The key that has sealed it.
    pub(crate) sealed_with: Option<KeyId>,
}

impl Stored {
    /// Opens a file.
    pub(crate) fn open(root: &Path, key: &Key, keys: Option<&Keyring>) -> Result<Self, Error> {
        let failed = |error| Error::of(key, "read", error);
        let mut file = File::open(key.path(root)).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(Error::Shadowed(key.clone()));
        }
        let mut object = Object::of(&metadata).map_err(failed)?;
        let plain = |file| Ok(Self { file: Arc::new(file), opener: None, object, sealed_with: None });
        // Without keys, files are what they are.
        let Some(keys) = keys else { return plain(file) };
        let mut head = [0; HEAD];
        match file.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return plain(file),
            Err(error) => return Err(failed(error)),
        }
        let Some(sealed_with) = key_of(&head) else { return plain(file) };
        let len = object.size;
        let opener = Opener::new(keys, &place(key), &head, len).map_err(|error| failed(refused(error)))?;
        object.size = plain_len(len).unwrap_or_default();
        Ok(Self {
            file: Arc::new(file),
            opener: Some(Arc::new(opener)),
            object,
            sealed_with: Some(sealed_with),
        })
    }

    /// When it was put.
    pub(crate) fn modified(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    /// Whether it is still the file of a path.
    pub(crate) fn is_at(&self, path: &Path) -> io::Result<bool> {
        let opened = self.file.metadata()?;
        match std::fs::metadata(path) {
            Ok(found) => Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino())),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// A part of the content; what lies past its end is left out.
    pub(crate) fn read(&self, range: &Range<u64>) -> io::Result<Bytes> {
        let range = clip(range, self.object.size);
        let mut content =
            Vec::with_capacity(usize::try_from(range.end - range.start).map_err(io::Error::other)?);
        let mut at = range.start;
        while at < range.end {
            let piece = self.piece(at..range.end)?;
            if piece.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            at += piece.len() as u64;
            content.extend_from_slice(&piece);
        }
        Ok(content.into())
    }

    /// The beginning of a part that lies in the content: no more than a piece.
    pub(crate) fn piece(&self, range: Range<u64>) -> io::Result<Bytes> {
        let Some(opener) = &self.opener else {
            let len = (range.end - range.start).min(PIECE as u64 * 4);
            let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
            self.file.read_exact_at(&mut bytes, range.start)?;
            return Ok(bytes.into());
        };
        let number = range.start / PIECE as u64;
        let left = self.object.size.saturating_sub(number * PIECE as u64).min(PIECE as u64);
        let mut sealed = vec![0; usize::try_from(left).map_err(io::Error::other)? + SEALED_PIECE - PIECE];
        self.file.read_exact_at(&mut sealed, HEAD as u64 + number * SEALED_PIECE as u64)?;
        let opened = Bytes::from(opener.piece(number, sealed).map_err(refused)?);
        let before = number * PIECE as u64;
        let part = clip(&(range.start - before..range.end - before), opened.len() as u64);
        // Both lie within a piece.
        Ok(opened.slice(part.start as usize..part.end as usize))
    }
}

pub(crate) fn clip(range: &Range<u64>, size: u64) -> Range<u64> {
    let start = range.start.min(size);
    start..range.end.clamp(start, size)
}
