//! The rooms of the service.

use std::sync::Arc;

use assisted_blob::Blob;
use assisted_config::Settings;

use crate::Error;
use crate::access::Access;
use crate::catalogue::Catalogue;
use crate::cluster::Clusters;
use crate::database::Database;
use crate::event::Events;
use crate::file::Files;
use crate::host::Hosts;
use crate::infra_env::InfraEnvs;
use crate::machine::Machines;
use crate::metrics::Metrics;
use crate::work::Work;

/// The use cases, in rooms; a clone is another handle on the same service.
#[derive(Clone)]
pub struct Service(Arc<Rooms>);

/// Each room sees the handle on store and cache, and of the other rooms what they offer within the crate.
pub(crate) struct Rooms {
    pub(crate) clusters: Clusters,
    pub(crate) hosts: Hosts,
    pub(crate) infra_envs: InfraEnvs,
    pub(crate) files: Files,
    pub(crate) events: Events,
    pub(crate) catalogue: Catalogue,
    pub(crate) access: Access,
    pub(crate) work: Work,
    pub(crate) machines: Machines,
    pub(crate) settings: Arc<Settings>,
    pub(crate) blob: Blob,
    pub(crate) database: Arc<Database>,
}

impl Service {
    pub(crate) fn new(rooms: Rooms) -> Self {
        Self(Arc::new(rooms))
    }

    /// Clusters, from their registration to their end.
    pub fn clusters(&self) -> &Clusters {
        &self.0.clusters
    }

    /// Hosts, and what their agents say.
    pub fn hosts(&self) -> &Hosts {
        &self.0.hosts
    }

    /// Infra-envs, and what their images are made of.
    pub fn infra_envs(&self) -> &InfraEnvs {
        &self.0.infra_envs
    }

    /// Files of clusters: credentials, logs, manifests.
    pub fn files(&self) -> &Files {
        &self.0.files
    }

    /// Events, and the stream of changes.
    pub fn events(&self) -> &Events {
        &self.0.events
    }

    /// Versions, features and operators that can be installed.
    pub fn catalogue(&self) -> &Catalogue {
        &self.0.catalogue
    }

    /// What the authorisation has to know of a resource.
    pub fn access(&self) -> &Access {
        &self.0.access
    }

    /// What the service does by itself, for administrators.
    pub fn work(&self) -> &Work {
        &self.0.work
    }

    /// Machines by their management controllers, for administrators.
    pub fn machines(&self) -> &Machines {
        &self.0.machines
    }

    /// What is counted and timed.
    pub fn metrics(&self) -> &Metrics {
        self.0.database.metrics()
    }

    /// The settings that the service was started with.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.0.settings
    }

    /// Files of clusters and infra-envs.
    pub fn blob(&self) -> &Blob {
        &self.0.blob
    }

    /// Whether the background tasks are at work.
    ///
    /// # Errors
    ///
    /// What is stuck, for people.
    pub fn health(&self) -> Result<(), String> {
        self.0.work.health(self.0.settings.http.liveness_validation_timeout)
    }

    /// Whether requests can be served: the database answers.
    ///
    /// # Errors
    ///
    /// It does not.
    pub async fn ready(&self) -> Result<(), Error> {
        Ok(self.0.database.reader().ping().await?)
    }
}
