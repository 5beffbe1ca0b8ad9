//! Hosts, bound to a cluster or waiting in a pool.

pub mod record;
pub mod report;
