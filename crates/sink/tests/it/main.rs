//! Messages to a broker and to a server that take them, are away, and refuse.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod kafka;
mod webhook;
