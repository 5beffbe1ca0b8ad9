//! A record with the version that guards it.

use serde::de::DeserializeOwned;

use crate::error::Error;
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

impl<T: DeserializeOwned> Stored<T> {
    /// Reads the columns `version, doc`.
    pub(crate) fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self { version: Version(row.int(0)?), record: row.document(1)? })
    }
}

/// Whether soft-deleted rows are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deleted {
    #[default]
    Hidden,
    Shown,
}
