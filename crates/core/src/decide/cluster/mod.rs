//! Decisions about a cluster as a whole.

pub mod controller_logs;
pub mod day2;
pub mod finalizing;
pub mod kubeconfig;
pub mod layering;
pub mod lost_builds;
pub mod operators;
