//! Database and files in one archive: written while the service runs, verified, and put back, into the other engine too.
//!
//! An archive is a tar file, compressed by gzip. Its members, in this order: `rows/TABLE/NUMBER`, lines that
//! [`assisted_store::copy`] reads; `files/KEY`, each as it is kept; `data/NAME`, small files of the data folder; `manifest.json`, which
//! names all others with their lengths and SHA-256 digests. Whatever is sealed stays sealed. The manifest comes last, so that an archive
//! that was cut has none.

mod error;
mod format;
#[doc(hidden)]
pub mod fuzz;
mod members;
mod restore;
mod verify;
mod write;

pub use error::{DamageError, RestoreError, WriteError};
pub use format::{DataFile, Manifest};
pub use restore::{Destination, restore};
pub use verify::verify;
pub use write::{Source, write};
