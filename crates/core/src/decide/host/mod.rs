//! Decisions about a host, bound to a cluster or waiting in a pool.

pub mod approval;
pub mod binding;
pub mod bootstrap;
pub mod cancel;
pub mod disable;
pub mod install;
pub mod logs;
pub mod machine;
pub mod progress;
pub mod registration;
pub mod reply;
pub mod reset;
pub mod role;
pub mod simulated;
pub mod steps;
pub mod update;

#[cfg(test)]
mod tests;
