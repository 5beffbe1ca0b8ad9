//! Files by key: what is generated for clusters, what they upload, their logs.
//!
//! A [`Blob`] is a directory, or a bucket of S3. A file appears under its key whole or not at all, and lasts when [`Blob::put`]
//! returns. With keys ([`Blob::sealed`]) files are sealed, each for its key.

mod backend;
mod blob;
mod error;
mod folder;
mod key;
mod object;
mod s3;
mod sealed;

pub use blob::Blob;
pub use error::Error;
pub use key::{Key, KeyError};
pub use object::Object;
pub use s3::{PlaceError, S3};
