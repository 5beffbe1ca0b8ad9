//! What `openssl` reads is read, and means the same.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod certificates;
mod keys;
mod openssl;
