//! The lab's program as a person runs it, against a service process. What takes machines is tested with those, in `lab`.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod command_line;
mod service;
mod simulate;
