//! The keyfiles against what nmstate's own command line told, and the script on machines made of folders.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by a panic")]

mod hostile;
mod keyfiles;
mod script;

// Clippy sees benchmarks here: to link each of them as well takes a good part of CI.
#[cfg(clippy)]
#[allow(dead_code, reason = "it is a program of its own")]
#[path = "../../benches/keyfiles.rs"]
mod bench_keyfiles;
