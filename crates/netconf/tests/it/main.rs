//! The keyfiles against nmstate's own command line, and the script on machines made of folders.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by a panic")]

mod hostile;
mod nmstatectl;
mod script;
