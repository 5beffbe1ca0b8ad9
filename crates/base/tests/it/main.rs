//! What `openssl` reads is read, and means the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod certificates;
mod keys;
mod openssl;
