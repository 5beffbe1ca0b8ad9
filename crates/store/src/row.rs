//! A record with the version that guards it.

use assisted_seal::Keyring;

use crate::error::Error;
use crate::unsealed::{self, SecretFields};
use crate::value::{Row, Value};

/// Counts a row's changes, from 1: an update names the version it was decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub(crate) i64);

impl Version {
    /// The version of a row that was just inserted.
    pub const FIRST: Self = Self(1);

    /// The version after an update of this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl From<Version> for Value {
    fn from(version: Version) -> Self {
        Self::Int(version.0)
    }
}

/// A record as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    pub record: T,
    pub version: Version,
}

/// Reads the columns `version, doc` and those of the row's key.
pub(crate) fn stored<T: SecretFields>(row: &Row, keys: Option<&Keyring>) -> Result<Stored<T>, Error> {
    let key = (2..2 + T::KEY).map(|index| row.uuid(index)).collect::<Result<Vec<_>, _>>()?;
    let record = unsealed::read(row.text(1)?, &key, keys)?;
    Ok(Stored { version: Version(row.int(0)?), record })
}

/// Whether soft-deleted rows are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deleted {
    #[default]
    Hidden,
    Shown,
}
