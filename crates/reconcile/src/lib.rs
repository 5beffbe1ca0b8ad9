//! Work that stands in rows: one trait for what is done with a row, one for where rows stand, and one [`Driver`] that brings both
//! together.
//!
//! A [`Reconciler`] brings one row to where it should be and says when to look again. A [`Queue`] gives out rows that are due
//! under leases and takes them back. The driver works on several rows at the same time, and none waits for another: a place
//! that gets free is filled although other rows are still worked on. It keeps leases, limits the time of each row, lets rows
//! that failed wait longer each time, and has rows that fail again and again, panic or hang set aside, where people see them
//! and release them.
//!
//! Guarantees: a row is worked on once at a time as long as its lease is kept; a row whose worker died is due again when its
//! lease runs out, so a reconciler must be idempotent. A row that hangs without ever yielding keeps its thread, but neither its
//! place nor its lease.

mod driver;
mod memory;
pub mod objects;
mod status;
mod traits;

pub use driver::{Driver, Policy};
pub use memory::{MemoryQueue, MemoryRow};
pub use status::{Running, Snapshot, Status, Waiting};
pub use traits::{Batch, Ending, Failure, Outcome, Queue, Reconciler, Row};
