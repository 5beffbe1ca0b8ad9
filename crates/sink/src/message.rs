//! What is sent, and what became of it.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The same whenever it is sent.
    pub id: Uuid,
    /// What it tells of, such as `ClusterState`.
    pub kind: String,
    /// Messages of one key keep their order; so do those without.
    pub key: Option<Uuid>,
    /// When what it tells of happened.
    pub at: Timestamp,
    /// JSON.
    pub body: String,
}

/// What became of messages; what is neither taken nor refused is to be sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The places of those that were taken.
    pub taken: Vec<usize>,
    /// The places of those that were refused for what they are, each with the reason. What comes after one of its key may
    /// not have been sent.
    pub refused: Vec<(usize, String)>,
    /// Why others were not taken, though nothing is wrong with them.
    pub failed: Option<Failed>,
}

impl Delivery {
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        let failed = Failed { reason: reason.into(), retry_after: None };
        Self { failed: Some(failed), ..Self::default() }
    }

    /// Adds what became of other messages; the first failure is told.
    pub(crate) fn merge(&mut self, other: Self) {
        self.taken.extend(other.taken);
        self.refused.extend(other.refused);
        self.failed = self.failed.take().or(other.failed);
    }
}

/// Why messages were not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// For people; it holds no secret.
    pub reason: String,
    /// How long the receiver wants to be left alone.
    pub retry_after: Option<Duration>,
}

/// Why a sink can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{variable} must be set")]
    Missing { variable: &'static str },
    #[error("{variable}: {problem}")]
    Unusable { variable: &'static str, problem: String },
}
