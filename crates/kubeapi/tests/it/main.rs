//! What objects ask of the service.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod admission;
mod cluster;
mod controllers;
mod documentation;
mod documents;
mod fixture;
mod host;
mod hub;
mod infra_env;
mod kustomize;
mod node;
mod operator;
mod pool;
mod rbac;
