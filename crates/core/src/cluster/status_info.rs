//! Texts of `status_info`, which people and programs read (state-machines §3.4).

pub const READY: &str = "Cluster ready to be installed";
pub const INSUFFICIENT: &str = "Cluster is not ready for install";
pub const PENDING: &str = "User input required";
