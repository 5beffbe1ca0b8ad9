//! The image under the real tools, and in real machines.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod boot;
mod structure;
mod support;
