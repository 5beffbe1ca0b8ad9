//! What objects ask of the service.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod cluster;
mod documents;
mod fixture;
mod host;
mod infra_env;
