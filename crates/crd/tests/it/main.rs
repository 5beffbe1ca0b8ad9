//! The types against the published definitions, and both against a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod conditions;
mod conversion;
mod kinds;
mod patch;
mod published;
mod sample;
mod schema;
mod server;
mod walker;
