//! The providers of Cluster API: `bootstrap.cluster.x-k8s.io` and `controlplane.cluster.x-k8s.io`, a module per version that is served.

pub mod common;
pub mod openshift_assisted_config;
pub mod openshift_assisted_config_template;
pub mod openshift_assisted_control_plane;
