//! Files as they are kept: sealed where there are keys, and as they were put by programs that had none.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use assisted_seal::file::{HEAD, Opener, PIECE, SEALED_PIECE, Sealer, key_of, plain_len};
use assisted_seal::{KeyId, Keyring, SealError};
use bytes::Bytes;

use crate::backend::{Backend, Raw};
use crate::error::Error;
use crate::key::Key;
use crate::object::Object;

/// To open more bytes than that takes so long that other tasks must not wait for it.
const LONG: usize = 1 << 20;

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
    pub(crate) raw: Raw,
    /// What opens it; `None`: it is not sealed.
    opener: Option<Arc<Opener>>,
    /// With the size of the content.
    pub(crate) object: Object,
    /// The key that has sealed it.
    pub(crate) sealed_with: Option<KeyId>,
}

impl Stored {
    /// Opens a file.
    pub(crate) async fn open(
        backend: &dyn Backend,
        key: &Key,
        keys: Option<&Keyring>,
    ) -> Result<Self, Error> {
        let failed = |error| Error::of(key, "read", error);
        let raw = backend.open(key).await?;
        let (mut object, len) = (raw.object, raw.object.size);
        let plain = |raw| Self { raw, opener: None, object, sealed_with: None };
        // Without keys, files are what they are.
        let Some(keys) = keys.filter(|_| len >= HEAD as u64) else { return Ok(plain(raw)) };
        let head = raw.content.read(0..HEAD as u64).await.map_err(failed)?;
        let Some(head) = head.first_chunk::<HEAD>() else { return Ok(plain(raw)) };
        let Some(sealed_with) = key_of(head) else { return Ok(plain(raw)) };
        let opener = Opener::new(keys, &place(key), head, len).map_err(|error| failed(refused(error)))?;
        object.size = plain_len(len).unwrap_or_default();
        Ok(Self { raw, opener: Some(Arc::new(opener)), object, sealed_with: Some(sealed_with) })
    }

    /// A part of the content; what lies past its end is left out.
    pub(crate) async fn read(&self, range: &Range<u64>) -> io::Result<Bytes> {
        let range = clip(range, self.object.size);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let Some(opener) = &self.opener else { return self.raw.content.read(range).await };
        let (first, last) = (range.start / PIECE as u64, (range.end - 1) / PIECE as u64);
        let place = |number: u64| HEAD as u64 + number * SEALED_PIECE as u64;
        let sealed = self.raw.content.read(place(first)..place(last + 1).min(self.raw.object.size)).await?;
        let opened = if sealed.len() > LONG {
            let opener = Arc::clone(opener);
            let work = move || open_pieces(&opener, first, &sealed);
            tokio::task::spawn_blocking(work).await.map_err(io::Error::other)??
        } else {
            open_pieces(opener, first, &sealed)?
        };
        let before = first * PIECE as u64;
        let part = clip(&(range.start - before..range.end - before), opened.len() as u64);
        let bound = |at: u64| usize::try_from(at).map_err(io::Error::other);
        Ok(opened.slice(bound(part.start)?..bound(part.end)?))
    }

    /// The beginning of a part that lies in the content: as much as is read at a time.
    pub(crate) async fn piece(&self, range: &Range<u64>) -> io::Result<Bytes> {
        // Whole sealed pieces: none is read twice.
        let window = self.raw.content.window().max(PIECE as u64) / PIECE as u64 * PIECE as u64;
        let end = (range.start / window + 1) * window;
        self.read(&(range.start..range.end.min(end))).await
    }
}

fn open_pieces(opener: &Opener, first: u64, sealed: &[u8]) -> io::Result<Bytes> {
    let mut opened = Vec::with_capacity(sealed.len());
    for (number, piece) in (first..).zip(sealed.chunks(SEALED_PIECE)) {
        opened.append(&mut opener.piece(number, piece.to_vec()).map_err(refused)?);
    }
    Ok(opened.into())
}

pub(crate) fn clip(range: &Range<u64>, size: u64) -> Range<u64> {
    let start = range.start.min(size);
    start..range.end.clamp(start, size)
}
