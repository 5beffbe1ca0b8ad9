//! The machines as their caller sees them: facts in, outcomes out, written down, looked at again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod history;
mod installation;
mod odd_replies;
mod refresh;
mod registration;
mod replies;
mod steps;
mod update;
mod world;
