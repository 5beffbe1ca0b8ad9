//! Sealed files: a head with the key's id and the random part, then pieces of 64 KiB, each sealed by itself.

use crate::key::{SALT, TAG, ValueKey, salt};
use crate::{KeyId, Keyring, SealError};

/// What sealed files begin with.
const MAGIC: [u8; 4] = *b"ASL1";
/// Bytes of the head.
pub const HEAD: usize = MAGIC.len() + 8 + SALT;
/// Bytes of a piece before it is sealed, and after; the last one is shorter, and may be empty.
pub const PIECE: usize = 64 << 10;
pub const SEALED_PIECE: usize = PIECE + TAG;

/// The key by which a file is sealed that begins with these bytes; `None` where it is not sealed.
pub fn key_of(start: &[u8]) -> Option<KeyId> {
    let rest = start.strip_prefix(&MAGIC)?;
    rest.first_chunk::<8>().map(|id| KeyId(*id))
}

/// Bytes that a sealed file of `len` bytes holds; `None` where no sealed file has this length.
pub fn plain_len(len: u64) -> Option<u64> {
    let pieces = len.checked_sub(HEAD as u64)?;
    let tags = pieces.div_ceil(SEALED_PIECE as u64) * TAG as u64;
    pieces.checked_sub(tags).filter(|_| tags > 0)
}

/// Seals a file as it comes.
pub struct Sealer {
    key: ValueKey,
    place: String,
    number: u32,
    held: Vec<u8>,
    head: Option<Vec<u8>>,
}

impl Sealer {
    /// For a file at a place.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new(keys: &Keyring, place: &str) -> Result<Self, SealError> {
        let (key, salt) = (keys.primary(), salt()?);
        let head = [&MAGIC[..], &key.id().0, &salt].concat();
        let key = key.derive(&salt)?;
        Ok(Self { key, place: place.to_owned(), number: 0, held: Vec::new(), head: Some(head) })
    }

    /// Takes the next bytes, and gives what is to be written.
    ///
    /// # Errors
    /// When the file has more pieces than can be numbered: 256 TiB.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut sealed = self.head.take().unwrap_or_default();
        self.held.extend_from_slice(bytes);
        // The last piece is marked, and which one it is shows at the end.
        while self.held.len() > PIECE {
            let rest = self.held.split_off(PIECE);
            let piece = std::mem::replace(&mut self.held, rest);
            self.piece(piece, false, &mut sealed)?;
        }
        Ok(sealed)
    }

    /// Ends the file, and gives what is to be written last.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish(mut self) -> Result<Vec<u8>, SealError> {
        let mut sealed = self.head.take().unwrap_or_default();
        let piece = std::mem::take(&mut self.held);
        self.piece(piece, true, &mut sealed)?;
        Ok(sealed)
    }

    fn piece(&mut self, mut piece: Vec<u8>, last: bool, to: &mut Vec<u8>) -> Result<(), SealError> {
        self.key.seal(&self.place, self.number, last, &mut piece)?;
        self.number = self.number.checked_add(1).ok_or(SealError::Form)?;
        to.append(&mut piece);
        Ok(())
    }
}

/// Opens pieces of a sealed file, in any order.
pub struct Opener {
    key: ValueKey,
    place: String,
    /// Number of the last piece.
    last: u64,
}

impl Opener {
    /// For a file of `len` bytes at a place, with its head.
    ///
    /// # Errors
    /// When it is no sealed file, or its key is not known.
    pub fn new(keys: &Keyring, place: &str, head: &[u8; HEAD], len: u64) -> Result<Self, SealError> {
        let id = key_of(head).ok_or(SealError::Form)?;
        let key = keys.key(id).ok_or(SealError::UnknownKey(id))?;
        let salt = head.last_chunk::<SALT>().ok_or(SealError::Form)?;
        plain_len(len).ok_or(SealError::Broken)?;
        let last = (len - HEAD as u64).div_ceil(SEALED_PIECE as u64) - 1;
        Ok(Self { key: key.derive(salt)?, place: place.to_owned(), last })
    }

    /// Opens the piece of a number.
    ///
    /// # Errors
    /// When it is not that piece of that file as it was sealed.
    pub fn piece(&self, number: u64, mut sealed: Vec<u8>) -> Result<Vec<u8>, SealError> {
        let counted = u32::try_from(number).map_err(|_| SealError::Form)?;
        self.key.open(&self.place, counted, number == self.last, &mut sealed)?;
        Ok(sealed)
    }
}
