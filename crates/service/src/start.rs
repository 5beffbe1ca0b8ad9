//! Start and end of the service.

use std::path::Path;
use std::sync::Arc;

use assisted_auth::{Accounts, AccountsError, Observer};
use assisted_blob::Blob;
use assisted_config::{AuthType, Settings, SettingsError};
use assisted_core::policy::Policy;
use assisted_reconcile::Driver;
use assisted_release::Catalogue as Releases;
use assisted_seal::{Keyring, SealError};
use assisted_sink::SetupError;
use assisted_store::Store;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Clock;
use crate::access::{Access, Signer};
use crate::action::{self, ActionQueue, Worker};
use crate::attempt::AttemptError;
use crate::available_versions::{AvailableVersions, follow};
use crate::catalogue::Catalogue;
use crate::cluster::Clusters;
use crate::database::Database;
use crate::dns::Domains;
use crate::event::Events;
use crate::event::live::Publisher;
use crate::file::Files;
use crate::generator::{Generator, ReviewTurns};
use crate::host::Hosts;
use crate::housekeeping::Housekeeping;
use crate::infra_env::InfraEnvs;
use crate::machine::Machines;
use crate::metrics::Metrics;
use crate::outbox_relay::{OutboxRelay, Sinks};
use crate::pace::SHORTEST_REST;
use crate::parts::Parts;
use crate::policy::policy;
use crate::retention::Sweeper;
use crate::scheduler::{self, Deliveries, DueQueue, Scheduler, SlowThresholds};
use crate::service::{Rooms, Service};
use crate::upload::{Endpoint, EndpointError, Uploader};
use crate::work::Work;

/// A service that is about to start.
pub struct Builder {
    settings: Settings,
    policy: Arc<Policy>,
    store: Store,
    blob: Blob,
    keys: Keyring,
    clock: Clock,
    signer: Signer,
    generator: Arc<dyn Generator>,
    catalogue: Option<Releases>,
    metrics: Metrics,
    dns: Arc<Domains>,
    accounts: Option<Arc<Accounts>>,
    sinks: Sinks,
    endpoint: Option<Endpoint>,
}

/// Why a service can't be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting that the domain can't decide by.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("the key of addresses of files can't be made")]
    Keys(#[from] SealError),
    #[error("metrics can't be taken")]
    Metrics(#[from] prometheus::Error),
    #[error("events can't be sent on with these settings: {0}")]
    Sinks(#[from] SetupError),
    #[error("data about clusters can't be sent with these settings: {0}")]
    Upload(#[from] EndpointError),
}

impl Builder {
    /// Measures the folder that the service keeps its data in.
    ///
    /// # Errors
    ///
    /// Another folder is measured already.
    pub fn data_dir(self, path: &Path) -> Result<Self, StartError> {
        self.metrics.watch_folder(path.to_owned())?;
        Ok(self)
    }

    /// Another clock than the system's.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Seals the tokens in addresses of files with these keys, so that all who have them open what one gives out. Without them, a service
    /// opens its own alone.
    #[must_use]
    pub fn keys(mut self, keys: Keyring) -> Self {
        self.keys = keys;
        self
    }

    /// Makes the tokens in the URLs that the service gives out.
    #[must_use]
    pub fn signer(mut self, signer: Signer) -> Self {
        self.signer = signer;
        self
    }

    /// Offers the releases of a catalogue instead of those in the settings.
    #[must_use]
    pub fn catalogue(mut self, catalogue: Releases) -> Self {
        self.catalogue = Some(catalogue);
        self
    }

    /// Starts the background tasks.
    pub fn start(self) -> (Service, Background) {
        let settings = Arc::new(self.settings);
        let policy = Arc::clone(&self.policy);
        let database = Database::new(
            self.store,
            &settings,
            policy,
            self.clock,
            self.metrics.clone(),
            self.sinks.stream(),
        );
        let database = Arc::new(database);
        let parts = Parts {
            access: Access::new(
                Arc::clone(&database),
                settings.auth.clone(),
                self.signer,
                self.accounts.clone(),
            ),
            accounts: self.accounts,
            available: Arc::new(AvailableVersions::new(&self.policy)),
            settings,
            database,
            blob: self.blob,
            keys: self.keys,
            generator: self.generator,
            reviews: ReviewTurns::default(),
            dns: self.dns,
        };
        let (clusters, events) = (Clusters::new(&parts), Events::new(&parts));
        let (scheduler, worker) = (Arc::<Scheduler>::default(), Arc::<Worker>::default());
        for status in [scheduler.status(), worker.status()] {
            self.metrics.watch_driver(Arc::clone(status));
        }
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let uploader = Arc::new(Uploader::new(&parts, self.endpoint));
        let deliveries = Deliveries { outbox_relay: OutboxRelay::new(&parts, self.sinks), uploader };
        let reconcilers = Reconcilers::new(&parts, &scheduler, &worker, clusters.clone(), deliveries);
        tasks.spawn(reconcilers.run(stop.clone()));
        tasks.spawn(Publisher::new(events.clone()).run(stop.clone()));
        tasks.spawn(watch_writer(Arc::clone(&parts.database), stop.clone()));
        let housekeeping = Housekeeping::new(&parts, Arc::clone(&scheduler));
        tasks.spawn(housekeeping.clone().run(stop.clone()));
        if let Some(catalogue) = self.catalogue {
            // What is known without asking anybody.
            parts.available.set(catalogue.known());
            let every = parts.settings.versions.release_sync_interval;
            tasks.spawn(follow(Arc::clone(&parts.available), catalogue, every, stop.clone()));
        }
        let machines = Machines::new(&parts);
        let service = Service::new(Rooms {
            clusters,
            hosts: Hosts::new(&parts),
            infra_envs: InfraEnvs::new(&parts),
            files: Files::new(&parts),
            events,
            catalogue: Catalogue::new(&parts),
            access: parts.access,
            work: Work::new(Arc::clone(&parts.database), scheduler, worker),
            machines,
            settings: parts.settings,
            blob: parts.blob,
            database: parts.database,
        });
        (service, Background { housekeeping, stop, tasks })
    }
}

/// Ends when nothing can be written to the database any more, so that the process does not go on with refusals alone.
async fn watch_writer(database: Arc<Database>, stop: CancellationToken) {
    tokio::select! {
        () = database.writer_ended() => tracing::error!("the writer of the database died of a defect: the service ends"),
        () = stop.cancelled() => {}
    }
}

/// The drivers of due work and of actions.
struct Reconcilers {
    database: Arc<Database>,
    sweeper: Arc<Sweeper>,
    uploader: Arc<Uploader>,
    scheduler: Arc<Scheduler>,
    due: Driver<DueQueue, DueQueue>,
    actions: Driver<ActionQueue, ActionQueue>,
}

impl Reconcilers {
    fn new(
        parts: &Parts,
        scheduler: &Arc<Scheduler>,
        worker: &Arc<Worker>,
        clusters: Clusters,
        deliveries: Deliveries,
    ) -> Self {
        // Shown to people who look into the tables of work.
        let owner: Arc<str> = format!("{}-{}", std::process::id(), Uuid::new_v4().simple()).into();
        let sweeper = Arc::new(Sweeper::new(parts, clusters));
        let (uploader, events) = (Arc::clone(&deliveries.uploader), &parts.settings.events);
        let slow = SlowThresholds { cluster: events.slow_cluster, host: events.slow_host };
        let (database, scheduler) = (Arc::clone(&parts.database), Arc::clone(scheduler));
        let due = scheduler::driver(
            &database,
            Arc::clone(&sweeper),
            deliveries,
            Arc::clone(&scheduler),
            Arc::clone(&owner),
            slow,
        );
        let actions = action::driver(parts, Arc::clone(worker), owner);
        Self { database, sweeper, uploader, scheduler, due, actions }
    }

    /// Takes up what another process had begun, and works on what is due and what is to be done until stopped.
    async fn run(self, stop: CancellationToken) {
        while let Err(error) = self.begin().await {
            tracing::warn!(?error, "what a start has to do can't be done yet");
            self.scheduler.status().mark_alive();
            tokio::select! {
                () = tokio::time::sleep(SHORTEST_REST) => {}
                () = stop.cancelled() => return,
            }
        }
        tokio::join!(self.due.run(stop.clone()), self.actions.run(stop));
    }

    /// Frees the leases of a process that died, and plans what comes up from time to time.
    async fn begin(&self) -> Result<(), AttemptError> {
        self.database.follow_time(true).await?;
        self.database.return_from_future().await?;
        self.database.free_leases(self.database.now()).await?;
        self.uploader.plan().await?;
        self.sweeper.plan().await
    }
}

/// The tasks behind a service: it is refreshed as long as this lives.
pub struct Background {
    housekeeping: Housekeeping,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Background {
    /// Waits until a task ends by itself, which none should: the process must not go on without it.
    pub async fn failed(&mut self) -> Option<JoinError> {
        self.tasks.join_next().await.and_then(Result::err)
    }

    /// Lets each task finish what it has begun, and writes the check-ins that are not yet written.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
        self.housekeeping.save_check_ins().await;
    }
}

impl Service {
    /// A service with the system's clock and URLs without tokens. The generator is that of [`crate::generator::open`], or a test's.
    ///
    /// # Errors
    ///
    /// A setting that the domain can't decide by, an account service that can't be asked with the settings, or a system without
    /// random numbers.
    pub fn builder(
        settings: Settings,
        store: Store,
        blob: Blob,
        generator: Arc<dyn Generator>,
    ) -> Result<Builder, StartError> {
        let policy = policy(&settings)?;
        let metrics = Metrics::new()?;
        Ok(Builder {
            accounts: accounts(&settings, &metrics)?,
            sinks: Sinks::new(&settings, &policy)?,
            endpoint: Endpoint::new(&settings)?,
            policy: Arc::new(policy),
            dns: Arc::new(Domains::new(&settings.dns)?),
            settings,
            store,
            blob,
            keys: Keyring::generate()?,
            clock: Clock::default(),
            signer: Arc::new(|_| None),
            generator,
            catalogue: None,
            metrics,
        })
    }
}

/// The account service, where people are known by it; it is told how long each question took.
fn accounts(settings: &Settings, metrics: &Metrics) -> Result<Option<Arc<Accounts>>, AccountsError> {
    if settings.auth.auth_type != AuthType::Rhsso {
        return Ok(None);
    }
    let metrics = metrics.clone();
    let observed: Observer = Box::new(move |name, took| metrics.operation(name, took));
    Ok(Some(Arc::new(Accounts::new(settings)?.observed(observed))))
}
