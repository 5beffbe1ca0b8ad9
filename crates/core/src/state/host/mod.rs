//! The states of a host, bound to a cluster or waiting in a pool.

pub mod check_in;
pub mod cluster_context;
pub mod condition;
pub mod forget;
pub(crate) mod format;
pub mod limits;
pub mod next_deadline;
pub mod refresh;
pub mod resetting;
pub(crate) mod rule_context;
pub mod stage;
pub mod state;
pub mod status_info;
pub mod transition;

pub use rule_context::boots_persistently;
