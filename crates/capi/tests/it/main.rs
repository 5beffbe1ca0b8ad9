//! The providers against a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod authority;
mod bootstrap;
mod control_plane;
mod core_steps;
mod core_world;
mod documentation;
mod door;
mod everything_accounts;
mod everything_class;
mod everything_core;
mod everything_day_two;
mod everything_document;
mod everything_killed;
mod everything_published;
mod everything_release;
mod everything_settings;
mod everything_shapes;
mod gate;
mod metal3;
mod mounted;
mod node;
mod once;
mod rbac;
mod upgrade;
mod webhook;
mod world;
