//! Simulated hosts against a real service over HTTP.

// A helper of a test fails like the test itself.
#![allow(clippy::unwrap_used)]

mod discovery;
mod service;
