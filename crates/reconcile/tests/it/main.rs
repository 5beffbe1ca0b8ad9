//! The driver on a queue in memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod driver;
