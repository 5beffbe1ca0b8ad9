//! Start and end of the service.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_blob::Blob;
use assisted_config::{Settings, SettingsError};
use assisted_core::policy::Policy;
use assisted_release::Catalogue;
use assisted_store::Store;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::action::Worker;
use crate::database::Database;
use crate::generator::Generator;
use crate::infra_env::{Networks, Programs};
use crate::keyed_mutex::KeyedMutex;
use crate::live::ring::Live;
use crate::pace::SHORTEST_REST;
use crate::policy::policy;
use crate::scheduler::Scheduler;
use crate::version::Offered;
use crate::{Clock, Inner, Service, Signer};

/// How often check-ins are written.
const FLUSH: Duration = Duration::from_secs(1);

/// How often caches drop the entries that nobody needs any more.
const TIDY: Duration = Duration::from_secs(600);

/// A service that is about to start.
pub struct Builder {
    settings: Settings,
    policy: Arc<Policy>,
    store: Store,
    blob: Blob,
    clock: Clock,
    signer: Signer,
    generator: Arc<dyn Generator>,
    catalogue: Option<Catalogue>,
}

impl Builder {
    /// Another clock than the system's.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
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
    pub fn catalogue(mut self, catalogue: Catalogue) -> Self {
        self.catalogue = Some(catalogue);
        self
    }

    /// Starts the background tasks.
    pub fn start(self) -> (Service, Background) {
        let settings = Arc::new(self.settings);
        let service = Service(Arc::new(Inner {
            database: Database::new(self.store, &settings),
            offered: Offered::new(&self.policy),
            settings,
            policy: self.policy,
            blob: self.blob,
            clock: self.clock,
            signer: self.signer,
            manifests: KeyedMutex::default(),
            reports: KeyedMutex::default(),
            networks: Networks::default(),
            programs: Programs::default(),
            scheduler: Scheduler::default(),
            worker: Worker::default(),
            generator: self.generator,
            live: Live::default(),
        }));
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(service.clone().reconcile(stop.clone()));
        tasks.spawn(service.clone().publish_changes(stop.clone()));
        tasks.spawn(service.clone().flush_check_ins(stop.clone()));
        if let Some(catalogue) = self.catalogue {
            service.offer(&catalogue);
            tasks.spawn(service.clone().follow_catalogue(catalogue, stop.clone()));
        }
        (service.clone(), Background { service, stop, tasks })
    }
}

/// The tasks behind a service: it is refreshed as long as this lives.
pub struct Background {
    service: Service,
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
        self.service.save_check_ins().await;
    }
}

impl Service {
    /// A service with the system's clock and URLs without tokens. The generator is that of [`crate::generator::open`], or a test's.
    ///
    /// # Errors
    ///
    /// A setting that the domain can't decide by.
    pub fn builder(
        settings: Settings,
        store: Store,
        blob: Blob,
        generator: Arc<dyn Generator>,
    ) -> Result<Builder, SettingsError> {
        Ok(Builder {
            policy: Arc::new(policy(&settings)?),
            settings,
            store,
            blob,
            clock: Clock::default(),
            signer: Arc::new(|_| None),
            generator,
            catalogue: None,
        })
    }

    /// Takes up what another process had begun, and works on what is due and what is to be done until stopped.
    async fn reconcile(self, stop: CancellationToken) {
        while let Err(fault) = self.begin().await {
            tracing::warn!(?fault, "what a start has to do can't be done yet");
            self.0.scheduler.status().look();
            tokio::select! {
                () = tokio::time::sleep(SHORTEST_REST) => {}
                () = stop.cancelled() => return,
            }
        }
        tokio::join!(self.due_driver().run(stop.clone()), self.action_driver().run(stop));
    }

    /// Looks at once for what is due and to be done: for who turned the clock.
    pub fn wake(&self) {
        self.0.scheduler.wake();
        self.0.worker.wake();
    }

    async fn flush_check_ins(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(FLUSH);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut tidying = tokio::time::interval(TIDY);
        loop {
            tokio::select! {
                _ = ticks.tick() => self.save_check_ins().await,
                _ = tidying.tick() => {
                    self.0.database.tidy(self.now());
                    self.0.scheduler.tidy(self.now());
                    self.watch_file_system().await;
                }
                () = stop.cancelled() => return,
            }
        }
    }

    /// Warns when there is little room left for files.
    async fn watch_file_system(&self) {
        let threshold = self.settings().storage.filesystem_usage_threshold;
        match self.blob().usage().await {
            Ok(percent) if percent >= threshold => {
                tracing::warn!(percent, threshold, "the file system that files are kept on is filling up");
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = %chain(&error), "it is not known how full the file system is");
            }
        }
    }

    /// Writes the check-ins since the last time.
    pub(crate) async fn save_check_ins(&self) {
        let unsaved = self.cache().check_ins.take_unsaved();
        if unsaved.is_empty() {
            return;
        }
        if let Err(error) = self.0.database.flush_check_ins(&unsaved).await {
            tracing::warn!(hosts = unsaved.len(), error = %chain(&error), "check-ins not written, will try again");
            self.cache().check_ins.give_back(&unsaved);
        }
    }
}
