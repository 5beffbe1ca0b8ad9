//! A text in a file of its own, sealed.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::{Keyring, SealError, private_file, text};

/// Longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Why the file can't be had.
#[derive(Debug, thiserror::Error)]
pub enum SealedFileError {
    #[error("the file {} can't be used", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the file {} can't be sealed or opened", path.display())]
    Seal { path: PathBuf, source: SealError },
}

/// A file that an older program has left, its text sealed or as it is.
#[derive(Clone, Debug)]
pub struct SealedFile {
    path: PathBuf,
    place: &'static str,
}

impl SealedFile {
    /// At a path; its text is sealed for a place, which does not change when the file is moved.
    pub fn new(path: impl Into<PathBuf>, place: &'static str) -> Self {
        Self { path: path.into(), place }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text; `None`: there is no file.
    ///
    /// # Errors
    /// When it can't be read or opened.
    pub fn read(&self, keys: &Keyring) -> Result<Option<Zeroizing<String>>, SealedFileError> {
        let Some(found) = self.found()? else { return Ok(None) };
        self.open(keys, found).map(Some)
    }

    /// Removes it, if it is there.
    ///
    /// # Errors
    /// When it can't be removed.
    pub fn remove(&self) -> Result<(), SealedFileError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.io(error)),
            _ => Ok(()),
        }
    }

    /// Seals it anew, unless it is sealed with the newest key; returns whether it did.
    ///
    /// # Errors
    /// When it can't be read, opened or written.
    pub fn reseal(&self, keys: &Keyring) -> Result<bool, SealedFileError> {
        let Some(found) = self.found()? else { return Ok(false) };
        if text::key_of(&found) == Some(keys.primary().id()) {
            return Ok(false);
        }
        let plain = self.open(keys, found)?;
        let sealed = text::seal(keys, self.place, &plain).map_err(|source| self.seal(source))?;
        private_file::replace(&self.path, &sealed).map_err(|source| self.io(source))?;
        Ok(true)
    }

    fn found(&self) -> Result<Option<Zeroizing<String>>, SealedFileError> {
        let mut text = Zeroizing::new(String::new());
        match File::open(&self.path).and_then(|file| file.take(LONGEST).read_to_string(&mut text)) {
            Ok(_) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.io(source)),
        }
    }

    fn open(&self, keys: &Keyring, found: Zeroizing<String>) -> Result<Zeroizing<String>, SealedFileError> {
        if text::key_of(&found).is_none() {
            return Ok(found);
        }
        text::open(keys, self.place, &found).map(Zeroizing::new).map_err(|source| self.seal(source))
    }

    fn io(&self, source: std::io::Error) -> SealedFileError {
        SealedFileError::Io { path: self.path.clone(), source }
    }

    fn seal(&self, source: SealError) -> SealedFileError {
        SealedFileError::Seal { path: self.path.clone(), source }
    }
}
