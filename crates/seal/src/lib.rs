//! Secrets at rest: what is kept in a database or in files is sealed with keys that are in neither.
//!
//! A [`Keyring`] holds the keys of a key file: one seals, all of them open. Sealing is AES-256-GCM under a key that is derived
//! for each value from the keyring's and 32 random bytes, so that no nonce is ever used twice; the place where the value stands
//! (a row, the key of a file) is authenticated with it, so that a value that was moved elsewhere does not open. A sealed value
//! names its key. [`text`] seals what goes into a column, [`file`] what goes into files, in pieces, so that parts of large ones
//! can be read.

pub mod file;
mod hook;
mod key;
mod key_file;
mod keyring;
mod private_file;
mod sealed_file;
pub mod text;

pub use hook::{Hook, HookError};
pub use key::{Key, KeyId};
pub use key_file::{KeyFile, KeyFileError, Keys};
pub use keyring::Keyring;
pub use sealed_file::{SealedFile, SealedFileError};

/// Why a value can't be sealed or opened. Nothing of it is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("it is sealed with the key {0}, which is not among those that are given")]
    UnknownKey(KeyId),
    #[error("it is sealed, and was changed or moved since")]
    Broken,
    #[error("it is not in the form of a sealed value")]
    Form,
    #[error("the system gives no random numbers")]
    Random,
}
