//! `hive.openshift.io`: clusters and releases.

pub mod cluster_deployment;
pub mod cluster_image_set;
