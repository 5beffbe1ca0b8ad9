//! What a service works on, or has to work on. An addition to the contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::ClusterId;
use crate::time::DateTime;

/// A row of work: an object to look at, or an action to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "work-row")]
pub struct WorkRow {
    /// Tells it from all other rows; what is released goes by this.
    pub id: String,
    /// What is to be done: `cluster` or `host` when one is to be looked at, the name of a sweep, or that of an action.
    pub what: String,
    /// `set-aside`: it failed again and again, and is left alone until its next time or until it is released. `running`: a worker has it.
    /// `queued`: it is due. `waiting`: it is due later.
    pub state: String,
    /// The cluster that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    /// How often it was begun since it was last finished.
    pub attempts: i64,
    /// What the last attempt failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it is next due; for one that runs, when another worker may take it unless its own goes on.
    pub next_at: DateTime,
    /// The process that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// What one driver of the process that answers has done since it started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "work-driver")]
pub struct WorkDriver {
    /// `due` or `actions`.
    pub name: String,
    /// Rows that it works on.
    pub running: i64,
    /// Attempts that ended well.
    pub finished: i64,
    /// Attempts that came to nothing, of all kinds.
    pub failed: i64,
    /// Attempts that failed by a panic.
    pub panicked: i64,
    /// Attempts that took too long.
    pub timed_out: i64,
    /// How often a row was set aside.
    pub set_aside: i64,
    /// Milliseconds that all attempts took together.
    pub busy_milliseconds: i64,
    /// Milliseconds of the longest attempt.
    pub longest_milliseconds: i64,
}

/// Rows set aside come first, then those that run, that failed, and the others by their time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "work-list")]
pub struct WorkList {
    pub rows: Vec<WorkRow>,
    pub drivers: Vec<WorkDriver>,
}
