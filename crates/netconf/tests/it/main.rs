//! The keyfiles against what nmstate's own command line told, and the script on machines made of folders.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by a panic")]

mod hostile;
mod keyfiles;
mod script;
