//! Use cases of clusters: registering, changing, installing, ending; one file for each.

mod decide;
mod deregister;
mod finish;
mod hosts;
mod ignored;
mod install;
mod install_config;
mod operators;
mod read;
pub(crate) mod register;
mod render;
mod requirements;
mod ui_settings;
mod update;
mod validation;
pub(crate) mod view;

use assisted_core::model::refusal::Refusal;

pub use hosts::ListClusterHosts;
pub use read::{GetCluster, ListClusters};

/// 404: there is no such cluster.
pub(crate) fn no_cluster() -> Refusal {
    Refusal::not_found("record not found")
}
