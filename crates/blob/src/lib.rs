//! Files by key: what is generated for clusters, what they upload, their logs.
//!
//! A [`Blob`] is a directory. A file appears under its key whole or not at all, and is on disk when [`Blob::put`] returns. With keys
//! ([`Blob::sealed`]) files are sealed, each for its key.

mod blob;
mod error;
mod key;
mod lock;
mod object;
mod sealed;
mod walk;

pub use blob::Blob;
pub use error::Error;
pub use key::{Key, KeyError};
pub use object::Object;
