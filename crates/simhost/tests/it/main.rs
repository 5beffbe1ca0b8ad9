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
