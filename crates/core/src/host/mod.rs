//! Hosts, bound to a cluster or waiting in a pool.

pub mod binding;
pub mod check_in;
pub mod condition;
pub mod record;
pub(crate) mod refresh;
pub mod registration;
pub mod rejection;
pub mod reply;
pub mod report;
pub mod reset;
pub mod role;
pub mod stage;
pub mod state;
pub mod status_info;
pub mod steps;
pub mod transition;
pub mod update;
