//! Clusters.

pub mod condition;
pub mod record;
pub(crate) mod refresh;
pub mod status_info;
pub mod transition;
