//! Sealing, key files, and programs that wrap keys.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod files;
mod keys;
mod sealed_files;
mod texts;
