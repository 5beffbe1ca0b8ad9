//! A database of the replaced service, as its schema is described, filled and taken over on both engines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod files;
mod records;
mod world;
