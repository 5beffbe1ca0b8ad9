//! The same suite against SQLite and a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod actions;
mod changes;
mod connections;
mod copy;
mod crash;
mod due;
mod events;
mod failover;
mod outbox;
mod postgres;
mod reader;
mod records;
mod reports;
mod retention;
mod schema;
mod sealing;
mod support;
