//! Simulated hosts against a real service over HTTP.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod discovery;
mod guarded;
mod installation;
mod model;
mod outcomes;
mod service;
mod topologies;
mod travel;

// Clippy sees benchmarks here: to link each of them as well takes a good part of CI.
#[cfg(clippy)]
#[allow(dead_code, clippy::duplicate_mod, reason = "it is a program of its own")]
#[path = "../../benches/generations/main.rs"]
mod bench_generations;

#[cfg(clippy)]
#[allow(dead_code, reason = "it is a program of its own")]
#[path = "../../benches/load/main.rs"]
mod bench_load;
