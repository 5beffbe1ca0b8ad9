//! Releases from a real registry, and from one that misbehaves.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod auth;
mod availability;
mod cache;
mod catalogue;
mod extract;
mod faults;
mod lab;
mod mirrors;
mod resolve;
mod tls;
