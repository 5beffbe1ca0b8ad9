//! Platforms: what a cluster runs on, who manages its networking, and which hosts fit.

pub mod host_support;
pub mod resolution;

pub use host_support::supported;
pub use resolution::{Resolved, on_create, on_update};
