//! Cluster API: the kinds of the bootstrap and control-plane providers, ours, in all their versions with conversion between them;
//! and what is used of the core's kinds and of those of metal3's infrastructure.

pub mod cluster;
pub mod common;
pub mod conditions;
pub mod conversion;
pub mod labels;
pub mod machine;
pub mod machine_deployment;
pub mod metal3_machine;
pub mod metal3_machine_template;
pub mod openshift_assisted_config;
pub mod openshift_assisted_config_template;
pub mod openshift_assisted_control_plane;
pub mod openshift_assisted_control_plane_template;
