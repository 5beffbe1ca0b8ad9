//! Clusters.

pub mod record;
