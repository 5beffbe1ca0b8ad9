//! Archives of a store with everything in it, on both engines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod archives;
mod damage;
mod world;
