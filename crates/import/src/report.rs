//! The report of an import: how many of each kind were imported, and which were not.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Left-behind things of a kind that are named one by one.
const NAMED: usize = 1000;

/// The kinds of what is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Clusters,
    InfraEnvs,
    Hosts,
    Events,
    Files,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clusters => "clusters",
            Self::InfraEnvs => "infra-envs",
            Self::Hosts => "hosts",
            Self::Events => "events",
            Self::Files => "files",
        })
    }
}

/// How many of a kind were imported, were here already, or were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// Imported by this run.
    pub taken: u64,
    /// Here before this run.
    pub there: u64,
    /// Not imported; the report says why.
    pub left: u64,
}

/// An object that was not imported, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    pub kind: Kind,
    pub id: String,
    pub why: String,
}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub counts: BTreeMap<Kind, KindCount>,
    /// At most a thousand of each kind.
    pub left: Vec<Left>,
    /// What somebody has to know or do.
    pub notes: Vec<String>,
}

impl Report {
    fn count(&mut self, kind: Kind) -> &mut KindCount {
        self.counts.entry(kind).or_default()
    }

    pub(crate) fn taken(&mut self, kind: Kind, count: usize) {
        self.count(kind).taken += count as u64;
    }

    pub(crate) fn there(&mut self, kind: Kind, count: usize) {
        self.count(kind).there += count as u64;
    }

    pub(crate) fn left(&mut self, kind: Kind, id: impl Into<String>, why: impl Into<String>) {
        self.count(kind).left += 1;
        if self.left.iter().filter(|left| left.kind == kind).count() < NAMED {
            self.left.push(Left { kind, id: id.into(), why: why.into() });
        }
    }

    pub(crate) fn add_note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// How many of a kind.
    pub fn of(&self, kind: Kind) -> KindCount {
        self.counts.get(&kind).copied().unwrap_or_default()
    }
}
