//! One key, and the keys of single values that are derived from it.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::SealError;

/// Bytes of a key.
const LEN: usize = 32;
/// Bytes of the random part from which a value's own key is derived.
pub(crate) const SALT: usize = 32;
/// Bytes that sealing adds to what is sealed.
pub(crate) const TAG: usize = 16;
/// What the derived keys are for.
const PURPOSE: &[&[u8]] = &[b"assisted seal 1"];

/// Names a key, and tells nothing of it: the beginning of a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub(crate) [u8; 8]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&assisted_base::hex::encode(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

impl std::str::FromStr for KeyId {
    type Err = SealError;

    fn from_str(text: &str) -> Result<Self, SealError> {
        let number = u64::from_str_radix(text, 16).map_err(|_| SealError::Form)?;
        let id = Self(number.to_be_bytes());
        if id.to_string() == text { Ok(id) } else { Err(SealError::Form) }
    }
}

/// A key of 256 bits.
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    bytes: Zeroizing<[u8; LEN]>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

impl Key {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Self, SealError> {
        let mut bytes = Zeroizing::new([0; LEN]);
        SystemRandom::new().fill(&mut *bytes).map_err(|_| SealError::Random)?;
        Ok(Self::of(bytes))
    }

    fn of(bytes: Zeroizing<[u8; LEN]>) -> Self {
        let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
        hash.update(b"assisted seal key id");
        hash.update(&*bytes);
        let mut id = [0; 8];
        id.iter_mut().zip(hash.finish().as_ref()).for_each(|(to, from)| *to = *from);
        Self { id: KeyId(id), bytes }
    }

    /// Reads a key: the base64 of its bytes.
    pub fn read(text: &str) -> Option<Self> {
        let decoded = Zeroizing::new(BASE64_STANDARD.decode(text).ok()?);
        let mut bytes = Zeroizing::new([0; LEN]);
        if decoded.len() != LEN {
            return None;
        }
        bytes.copy_from_slice(&decoded);
        Some(Self::of(bytes))
    }

    /// The base64 of its bytes, for the key file or the program that wraps it.
    pub fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(BASE64_STANDARD.encode(self.bytes.as_slice()))
    }

    /// Its name.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The key of one value.
    pub(crate) fn derive(&self, salt: &[u8; SALT]) -> Result<ValueKey, SealError> {
        let extracted = Salt::new(HKDF_SHA256, salt).extract(&*self.bytes);
        let expanded = extracted.expand(PURPOSE, &AES_256_GCM).map_err(|_| SealError::Broken)?;
        Ok(ValueKey(LessSafeKey::new(UnboundKey::from(expanded))))
    }
}

/// The random part of a new value.
pub(crate) fn salt() -> Result<[u8; SALT], SealError> {
    let mut salt = [0; SALT];
    SystemRandom::new().fill(&mut salt).map_err(|_| SealError::Random)?;
    Ok(salt)
}

/// The key of one value, whose pieces are numbered: no number is used twice with it.
pub(crate) struct ValueKey(LessSafeKey);

impl ValueKey {
    /// Seals a piece in place. The last one is marked, so that nothing can be cut off.
    pub(crate) fn seal(
        &self,
        place: &str,
        number: u32,
        last: bool,
        piece: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let aad = Aad::from(place.as_bytes());
        self.0.seal_in_place_append_tag(nonce(number, last), aad, piece).map_err(|_| SealError::Broken)
    }

    /// Opens a piece in place.
    pub(crate) fn open(
        &self,
        place: &str,
        number: u32,
        last: bool,
        piece: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let aad = Aad::from(place.as_bytes());
        let opened =
            self.0.open_in_place(nonce(number, last), aad, piece).map_err(|_| SealError::Broken)?.len();
        piece.truncate(opened);
        Ok(())
    }
}

fn nonce(number: u32, last: bool) -> Nonce {
    let [a, b, c, d] = number.to_be_bytes();
    Nonce::assume_unique_for_key([0, 0, 0, 0, 0, 0, 0, a, b, c, d, u8::from(last)])
}
