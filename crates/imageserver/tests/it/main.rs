//! The image service over real sockets, in front of a scripted API service.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod api;
mod bases;
mod client;
mod connections;
mod iso;
mod listeners;
mod ranges;
mod requests;
mod server;

// Clippy sees benchmarks here: to link each of them as well takes a good part of CI.
#[cfg(clippy)]
#[allow(dead_code, reason = "it is a program of its own")]
#[path = "../../benches/images/main.rs"]
mod bench_images;
