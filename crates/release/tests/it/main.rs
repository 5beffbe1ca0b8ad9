//! Releases from a real registry, and from one that misbehaves.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod auth;
mod availability;
mod cache;
mod catalogue;
mod extract;
mod faults;
mod lab;
mod mirrors;
mod resolve;
mod tls;

// Clippy sees benchmarks here: to link each of them as well takes a good part of CI.
#[cfg(clippy)]
#[allow(dead_code, reason = "it is a program of its own")]
#[path = "../../benches/generate.rs"]
mod bench_generate;
