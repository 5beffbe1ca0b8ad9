//! Use cases: the only place that puts core, store, blob and release together.
//!
//! [`Service`] has one method for each operation of the REST contract, named as the operation. Behind them stand the
//! scheduler, which refreshes what is due, a worker, which does what the domain asks for outside, and a cache, from which
//! polls are answered.

mod action;
mod cache;
pub mod clock;
pub mod cluster;
mod database;
pub mod error;
pub mod event;
mod fault;
pub mod file;
pub mod generator;
pub mod host;
pub mod infra_env;
mod keyed_mutex;
pub mod live;
pub mod log;
pub mod manifest;
mod mark_watch;
mod off_thread;
pub mod operator;
mod pace;
pub mod policy;
mod retention;
mod scheduler;
mod standing;
pub mod start;
mod unit_of_work;
pub mod version;

use std::sync::Arc;

use assisted_base::error::chain;
use assisted_blob::Blob;
use assisted_config::Settings;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_core::policy::Policy;
use assisted_store::{Batch, Reader};
use jiff::Timestamp;

pub use assisted_auth::{Caller, Grant, TokenResource};
pub use clock::Clock;
pub use error::Error;
pub use standing::Standing;
pub use start::{Background, Builder};

use action::Worker;
use cache::Cache;
use database::Database;
use generator::Generator;
use infra_env::{Networks, Programs};
use keyed_mutex::KeyedMutex;
use live::ring::Live;
use scheduler::Scheduler;
use version::Offered;

/// Makes the token that opens one resource to those who hold its URL; `None` where no token is needed.
pub type Signer = Arc<dyn Fn(Grant) -> Option<String> + Send + Sync>;

/// The use cases; a clone is another handle on the same service.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    settings: Arc<Settings>,
    policy: Arc<Policy>,
    database: Database,
    blob: Blob,
    clock: Clock,
    signer: Signer,
    /// Of changes of manifests.
    manifests: KeyedMutex,
    /// Of hosts that report what their cluster is to show at once.
    reports: KeyedMutex,
    networks: Networks,
    programs: Programs,
    scheduler: Scheduler,
    worker: Worker,
    generator: Arc<dyn Generator>,
    live: Live,
    offered: Offered,
}

impl Service {
    /// The settings that the service was started with.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.0.settings
    }

    /// What the domain decides by.
    pub(crate) fn policy(&self) -> &Arc<Policy> {
        &self.0.policy
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
        self.0.scheduler.health(self.settings().http.liveness_validation_timeout)
    }

    /// Whether requests can be served: the database answers.
    ///
    /// # Errors
    ///
    /// It does not.
    pub async fn ready(&self) -> Result<(), Error> {
        Ok(self.store().ping().await?)
    }

    fn store(&self) -> &Reader {
        self.0.database.reader()
    }

    fn live(&self) -> &Live {
        &self.0.live
    }

    fn cache(&self) -> &Cache {
        self.0.database.cache()
    }

    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Stores what a refusal leaves behind, and makes it the caller's error.
    async fn reject(&self, rejection: RefusalWithEvents, caller: &Caller) -> Error {
        let request = Some(caller.request_id);
        let told = self.0.database.commit(Batch::new(), &rejection.events, request, self.now());
        if let Err(error) = told.await {
            // The refusal stands, told or not.
            tracing::warn!(error = %chain(&error), "a refusal's events are lost");
        }
        rejection.refusal.into()
    }
}
