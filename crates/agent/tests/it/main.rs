//! The agent's whole loop against a real HTTP server on the loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests too

mod chrony;
mod disk_speed;
mod netns;
mod network;
mod polling;
mod registration;
mod script;
mod service;
mod stepping;
mod tools;
mod upgrade;
