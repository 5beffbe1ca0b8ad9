//! `machineconfiguration.openshift.io`: pools of nodes, and the images that they run.

pub mod common;
pub mod machine_config_pool;
pub mod machine_os_build;
pub mod machine_os_config;
