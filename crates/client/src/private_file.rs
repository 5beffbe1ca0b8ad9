//! What a person's commands keep between runs: files in the user's configuration folder, which only the user reads.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Larger files are none of ours, in bytes.
const LARGEST: u64 = 1 << 20;

/// Why a kept file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    #[error("there is no home folder to keep secrets in; set XDG_CONFIG_HOME")]
    NoHome,
    #[error("{path} can be read by others, and there are secrets in it: chmod 600 {path}")]
    Open { path: String },
    #[error("{path} can't be used: {cause}")]
    File { path: String, cause: String },
}

/// A file of JSON that only its owner reads.
#[derive(Clone, Debug)]
pub struct PrivateFile(PathBuf);

impl PrivateFile {
    /// The user's file of this name: `$XDG_CONFIG_HOME/assisted/NAME`, else below `~/.config`.
    ///
    /// # Errors
    ///
    /// There is no home folder.
    pub fn of_user(name: &str) -> Result<Self, PrivateFileError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
        Ok(Self(config.ok_or(PrivateFileError::NoHome)?.join("assisted").join(name)))
    }

    /// The file of a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// What is in the file; of a file that is not there, what a new one has in it.
    ///
    /// # Errors
    ///
    /// The file can't be read, or others can read it.
    pub fn read<T: DeserializeOwned + Default>(&self) -> Result<T, PrivateFileError> {
        let file = match File::open(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
            file => file.map_err(|error| self.fault(&error))?,
        };
        let mode = file.metadata().map_err(|error| self.fault(&error))?.mode();
        if mode & 0o077 != 0 {
            return Err(PrivateFileError::Open { path: self.0.display().to_string() });
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text).map_err(|error| self.fault(&error))?;
        serde_json::from_str(&text).map_err(|error| self.fault(&error))
    }

    /// Writes the file. It is whole at each moment, whoever else writes it.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn write(&self, content: &impl Serialize) -> Result<(), PrivateFileError> {
        let text = serde_json::to_string_pretty(content).map_err(|error| self.fault(&error))?;
        let fresh = self.0.with_extension(format!("{}.new", std::process::id()));
        let written = || -> std::io::Result<()> {
            std::fs::create_dir_all(self.0.parent().unwrap_or(Path::new(".")))?;
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&fresh, &self.0)
        };
        written().map_err(|error| self.fault(&error))
    }

    fn fault(&self, cause: &dyn std::fmt::Display) -> PrivateFileError {
        PrivateFileError::File { path: self.0.display().to_string(), cause: cause.to_string() }
    }
}
