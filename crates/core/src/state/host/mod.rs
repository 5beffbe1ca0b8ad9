//! The states of a host, bound to a cluster or waiting in a pool.

pub mod check_in;
pub mod clock;
pub mod condition;
pub mod forget;
pub(crate) mod format;
pub mod limits;
pub mod refresh;
pub mod resetting;
pub(crate) mod situation;
pub mod stage;
pub mod state;
pub mod status_info;
pub mod surroundings;
pub mod transition;

pub use situation::boots_persistently;
