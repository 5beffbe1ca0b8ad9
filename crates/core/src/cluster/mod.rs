//! Clusters.

pub mod completion;
pub mod condition;
pub mod day2;
pub mod effect;
pub mod enough;
pub mod finalizing;
pub mod gate;
pub mod kubeconfig;
pub mod logs;
pub mod operators;
pub(crate) mod preparation;
pub(crate) mod progress;
pub mod record;
pub(crate) mod refresh;
pub(crate) mod single_node;
pub mod state;
pub mod status_info;
pub(crate) mod timeouts;
pub mod transition;
#[cfg(test)]
mod transition_tests;
mod vip_lease;
