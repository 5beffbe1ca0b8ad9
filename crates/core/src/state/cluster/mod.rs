//! The states of a cluster.

pub mod completion;
pub mod condition;
pub mod effect;
pub(crate) mod logs;
pub(crate) mod preparation;
pub(crate) mod progress;
pub mod quorum;
pub(crate) mod refresh;
pub(crate) mod single_node;
pub mod state;
pub mod status_info;
pub(crate) mod timeouts;
pub mod transition;
#[cfg(test)]
mod transition_tests;
mod vip_lease;
