//! Clusters.

mod deregister;
mod hosts;
mod ignored;
mod install_config;
mod read;
mod register;
mod requirements;
mod ui_settings;
mod update;
mod validation;
pub(crate) mod view;

use assisted_core::refusal::Refusal;

pub use hosts::ListClusterHosts;
pub use read::{GetCluster, ListClusters};

/// 404: there is no such cluster.
pub(crate) fn no_cluster() -> Refusal {
    Refusal::not_found("record not found")
}
