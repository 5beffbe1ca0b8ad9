//! `extensions.hive.openshift.io`: how a cluster is installed.

pub mod agent_cluster_install;
pub mod conditions;
