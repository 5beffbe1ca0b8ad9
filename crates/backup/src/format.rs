//! What an archive is made of.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The form of archives that this program writes and reads.
pub(crate) const FORM: &str = "assisted-backup-1";

/// The member that names all others.
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const ROWS: &str = "rows/";
pub(crate) const FILES: &str = "files/";
pub(crate) const DATA: &str = "data/";

/// Bytes after which a member with rows ends; a row may be longer.
pub(crate) const CHUNK: usize = 4 << 20;
/// Longest member with rows: a row is one host's report at most.
pub(crate) const MOST_ROWS: u64 = 256 << 20;
/// Longest small file of a data folder.
pub(crate) const MOST_DATA: u64 = 1 << 20;
/// Longest name of a member: keys of files are far shorter.
pub(crate) const MOST_NAME: u64 = 4096;
/// Longest manifest: some millions of files.
pub(crate) const MOST_MANIFEST: u64 = 1 << 30;

/// A small file of the data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFile {
    /// The key that signs tokens, itself sealed.
    TokenKey,
    /// The keys that everything is sealed with.
    SealKeys,
}

impl DataFile {
    pub(crate) const ALL: [Self; 2] = [Self::TokenKey, Self::SealKeys];

    /// Its name in an archive.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenKey => "token-key.pem",
            Self::SealKeys => "seal-keys",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|file| file.name() == name)
    }
}

/// What an archive says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub form: String,
    /// Version of the program that wrote it.
    pub program: String,
    pub made_at: Timestamp,
    /// Version of the schema that the rows are of.
    pub schema: i64,
    /// Rows of each table.
    pub rows: BTreeMap<String, u64>,
    /// Ids of the keys that something may be sealed with.
    pub seal_keys: Vec<String>,
    /// Whether those keys are in the archive.
    pub has_keys: bool,
    /// All other members, in their order.
    pub(crate) members: Vec<Member>,
}

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Hexadecimal.
    pub(crate) sha256: String,
}

impl Manifest {
    /// How many files of the service it has.
    pub fn files(&self) -> usize {
        self.members.iter().filter(|member| member.name.starts_with(FILES)).count()
    }

    /// Rows of a table.
    pub fn rows_of(&self, table: &str) -> u64 {
        self.rows.get(table).copied().unwrap_or_default()
    }

    /// Bytes of all members before they were compressed.
    pub fn bytes(&self) -> u64 {
        self.members.iter().map(|member| member.bytes).fold(0, u64::saturating_add)
    }
}
