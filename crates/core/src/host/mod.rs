//! Hosts, bound to a cluster or waiting in a pool.

pub mod binding;
pub mod bootstrap;
pub mod cancel;
pub mod check_in;
pub mod clock;
pub mod condition;
pub mod disable;
pub mod install;
pub mod limits;
pub mod logs;
pub mod progress;
pub mod record;
pub mod refresh;
pub mod registration;
pub mod rejection;
pub mod reply;
pub mod report;
pub mod reset;
pub mod role;
pub mod simulated;
mod situation;
pub mod stage;
pub mod state;
pub mod status_info;
pub mod steps;
pub mod surroundings;
pub mod transition;
pub mod update;

pub use situation::boots_persistently;

#[cfg(test)]
mod tests;
