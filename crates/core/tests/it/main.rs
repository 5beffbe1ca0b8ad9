//! The machines as their caller sees them: facts in, outcomes out, written down, looked at again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod history;
mod installation;
mod odd_replies;
mod passed_hosts;
mod refresh;
mod registration;
mod replies;
mod steps;
mod update;
mod world;

// Clippy sees benchmarks here: to link each of them as well takes a good part of CI.
#[cfg(clippy)]
#[allow(dead_code, clippy::duplicate_mod, reason = "it is a program of its own")]
#[path = "../../benches/refresh.rs"]
mod bench_refresh;
