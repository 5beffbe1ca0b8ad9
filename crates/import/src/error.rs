//! Why an import ends before it is done.

use assisted_store::WriteError;

/// Why an import ended in the middle. What came before stays, and the next run goes on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the database is none of the replaced service: it has no table {0}")]
    NotTheirs(&'static str),
    #[error("the database of the replaced service can't be read")]
    Read(#[from] assisted_store::Error),
    #[error("a file of the replaced service can't be read")]
    Source(#[source] assisted_blob::Error),
    #[error("a file can't be kept")]
    File(#[from] assisted_blob::Error),
    #[error("a record can't be kept")]
    Write(#[from] WriteError),
}
