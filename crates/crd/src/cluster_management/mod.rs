//! `cluster.open-cluster-management.io`: clusters that a hub manages.

pub mod managed_cluster;
