//! Use cases of clusters: registering, changing, installing, ending; one file for each.

mod actions;
mod deregister;
mod finish;
mod hosts;
mod ignored;
mod install;
mod install_config;
mod layering;
mod object;
mod operators;
mod read;
mod register;
mod render;
mod requirements;
mod subscription;
mod ui_settings;
mod update;
mod validation;
pub(crate) use std::sync::Arc;

use assisted_blob::Blob;

use crate::access::Access;
use crate::available_versions::AvailableVersions;
use crate::database::Database;
use crate::dns::Domains;
use crate::generator::{Generator, ReviewTurns};
use crate::keyed_mutex::KeyedMutex;
use crate::parts::Parts;

pub use hosts::ListClusterHosts;
pub use read::{GetCluster, ListClusters};

/// The use cases of clusters.
#[derive(Clone)]
pub struct Clusters {
    database: Arc<Database>,
    blob: Blob,
    generator: Arc<dyn Generator>,
    reviews: ReviewTurns,
    available: Arc<AvailableVersions>,
    access: Access,
    dns: Arc<Domains>,
    /// Held by requests that change a cluster.
    changes: Arc<KeyedMutex>,
}

impl Clusters {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            database: Arc::clone(&parts.database),
            blob: parts.blob.clone(),
            generator: Arc::clone(&parts.generator),
            reviews: parts.reviews.clone(),
            available: Arc::clone(&parts.available),
            access: parts.access.clone(),
            dns: Arc::clone(&parts.dns),
            changes: Arc::default(),
        }
    }
}
