//! Sealed texts, for columns: `v1.KEY-ID.BASE64`.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::key::{SALT, TAG, salt};
use crate::{Key, KeyId, Keyring, SealError};

const VERSION: &str = "v1";

/// What every text begins with that a key has sealed.
pub fn prefix(key: KeyId) -> String {
    format!("{VERSION}.{key}.")
}

/// Seals a text that stands at a place.
///
/// # Errors
/// When the system gives no random numbers.
pub fn seal(keys: &Keyring, place: &str, plain: &str) -> Result<String, SealError> {
    seal_with(&keys.primary(), place, plain)
}

/// Seals a text that stands at a place with this key.
///
/// # Errors
/// As [`seal`].
pub fn seal_with(key: &Key, place: &str, plain: &str) -> Result<String, SealError> {
    let salt = salt()?;
    let mut sealed = plain.as_bytes().to_vec();
    key.derive(&salt)?.seal(place, 0, true, &mut sealed)?;
    let mut text = prefix(key.id());
    BASE64_STANDARD.encode_string([&salt[..], &sealed].concat(), &mut text);
    Ok(text)
}

/// The key that has sealed a text; `None` for a text that is not sealed.
pub fn key_of(text: &str) -> Option<KeyId> {
    let (version, rest) = text.split_once('.')?;
    let (id, _) = rest.split_once('.')?;
    if version == VERSION { id.parse().ok() } else { None }
}

/// Opens a text that stands at a place.
///
/// # Errors
/// When it is not sealed, sealed with another key, for another place, or was changed.
pub fn open(keys: &Keyring, place: &str, text: &str) -> Result<String, SealError> {
    let id = key_of(text).ok_or(SealError::Form)?;
    let key = keys.key(id).ok_or(SealError::UnknownKey(id))?;
    let sealed = text.rsplit('.').next().and_then(|base64| BASE64_STANDARD.decode(base64).ok());
    let sealed = sealed.filter(|sealed| sealed.len() >= SALT + TAG).ok_or(SealError::Form)?;
    let (salt, sealed) = sealed.split_first_chunk::<SALT>().ok_or(SealError::Form)?;
    let mut plain = sealed.to_vec();
    key.derive(salt)?.open(place, 0, true, &mut plain)?;
    String::from_utf8(plain).map_err(|_| SealError::Broken)
}
