//! What a row is, what is done with it, and where rows stand.

use std::fmt;
use std::future::Future;

use jiff::Timestamp;

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is left to do until something changes.
    Done,
    /// To be looked at again at this time, or earlier if something changes.
    After(Timestamp),
    /// It can't go on until something else changes; the reason is for people.
    Wait { reason: String },
}

/// Why an attempt came to nothing. The text is for people: it must hold no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub message: String,
    /// Whether the cause lies outside of the row, such as a database that is away: the row is never set aside for it.
    pub passing: bool,
    /// Whether the row was judged by something that has changed meanwhile: it is looked at again in a moment, and nothing is wrong.
    pub stale: bool,
}

impl Failure {
    /// A failure of the row itself.
    pub fn of_row(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), passing: false, stale: false }
    }

    /// A failure that any row would have had.
    pub fn passing(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), passing: true, stale: false }
    }

    /// No failure at all: what the row was judged by has changed meanwhile.
    pub fn stale(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), passing: true, stale: true }
    }
}

/// How an attempt ended, for the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Finished(Outcome),
    /// To be tried again at a time, or earlier if something changes.
    Failed {
        error: String,
        retry_at: Timestamp,
    },
    /// To be tried again only at a time, whatever changes, or when a person releases it.
    SetAside {
        error: String,
        retry_at: Timestamp,
    },
    /// The process stops; nothing failed, and another worker may have it.
    GivenBack,
}

/// A row under a lease.
pub trait Row: Clone + Send + Sync + 'static {
    /// What it is, for people: the same for each attempt.
    fn label(&self) -> String;

    /// How often it was begun since it was last finished, this time included.
    fn attempts(&self) -> u32;

    /// Whether an attempt since then ended with a failure.
    fn has_failed(&self) -> bool;

    /// Whether it had been set aside when it was taken.
    fn was_set_aside(&self) -> bool;
}

/// Rows that were taken together.
#[derive(Clone, Debug)]
pub struct Batch<R> {
    pub rows: Vec<R>,
    /// Whether as many were taken as were asked for: there may be more.
    pub more: bool,
}

/// Where rows stand.
pub trait Queue: Send + Sync + 'static {
    type Row: Row;

    /// The time by which rows are due.
    fn now(&self) -> Timestamp;

    /// Takes up to `limit` rows that are due, under a lease. What was marked before this needs no [`Queue::marked`] any more.
    fn take(&self, limit: usize) -> impl Future<Output = Result<Batch<Self::Row>, Failure>> + Send;

    /// When a row is next due, leases included; `None`: none is. May lie in the past.
    fn next_at(&self) -> impl Future<Output = Result<Option<Timestamp>, Failure>> + Send;

    /// Makes a lease last longer; false when another worker has the row.
    fn keep(&self, row: &Self::Row) -> impl Future<Output = Result<bool, Failure>> + Send;

    /// Takes a row back. A reconciler that gave back its row in the transaction of what it decided leaves nothing to do for
    /// [`Ending::Finished`].
    fn complete(&self, row: &Self::Row, ending: Ending) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Returns when a row may have become due earlier than [`Queue::next_at`] said, since this was last called; false when
    /// none ever will be. Nothing is lost when the future is dropped.
    fn marked(&self) -> impl Future<Output = bool> + Send;
}

/// Brings rows to where they should be.
pub trait Reconciler: Send + Sync + 'static {
    type Row: Row;

    /// Does what has to be done for a row. It is dropped amid its work when its time is over or its lease is lost.
    fn reconcile(&self, row: &Self::Row) -> impl Future<Output = Result<Outcome, Failure>> + Send;
}
