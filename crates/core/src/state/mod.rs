//! The state machines of clusters and hosts: their tables, the conditions in them, and what their rules bring about.

pub mod cluster;
pub mod host;
pub mod machine;
