//! The errors of this crate.

use std::io;

use assisted_store::copy::CopyError;

/// Why an archive can't be taken for what it should be. Nothing of it was used.
#[derive(Debug, thiserror::Error)]
pub enum DamageError {
    #[error("the archive can't be read")]
    Read(#[source] io::Error),
    #[error("it is no archive of a backup, or it is damaged or cut")]
    Format(#[source] io::Error),
    #[error("the archive is cut: its last member, which names all others, is not there")]
    Cut,
    #[error("the archive is damaged: {member} {why}")]
    Member { member: String, why: &'static str },
    #[error("the archive is of a form that this program does not know, {0:?}: use a newer program")]
    Form(String),
    #[error("the archive is damaged: its rows")]
    Rows(#[source] CopyError),
}

/// Why no archive was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("the database can't be copied")]
    Database(#[from] CopyError),
    #[error("a file can't be copied")]
    File(#[from] assisted_blob::Error),
    #[error("the file {key} can't be copied")]
    Content { key: String, source: io::Error },
    #[error("the archive can't be written")]
    Archive(#[from] io::Error),
    #[error("who writes the archive has ended")]
    Stopped,
}

/// Why an archive was not put back.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("nothing was changed")]
    Damaged(#[from] DamageError),
    #[error("the database can't be made")]
    Database(#[from] CopyError),
    #[error("a file can't be put back")]
    File(#[from] assisted_blob::Error),
    #[error(
        "there is a file {0} already, which the archive does not have: choose another place. Nothing was changed"
    )]
    Strange(String),
    #[error(
        "there is a file {0} already, and the archive has another one: choose another place. Nothing was changed"
    )]
    Other(String),
    #[error("{path} can't be written")]
    Data { path: String, source: io::Error },
    #[error(
        "there is a {path} already, and the archive has another one: choose another data folder. Nothing was changed"
    )]
    OtherData { path: String },
    #[error("who reads the archive has ended")]
    Stopped,
}
