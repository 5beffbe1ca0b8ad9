//! What has to be done from time to time, whatever happens: check-ins are written, caches drop what nobody needs any more.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_blob::Blob;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::database::Database;
use crate::parts::Parts;
use crate::scheduler::Scheduler;

/// How often check-ins are written.
const FLUSH: Duration = Duration::from_secs(1);

/// How often the clock is compared with its reference.
const FOLLOW: Duration = Duration::from_secs(10);

/// How often what can't matter any more is forgotten.
const TIDY: Duration = Duration::from_secs(600);

/// How often caches drop what nobody has wanted since the last time, or the last but one. Of a cluster in which something happens all is
/// wanted more often; of any other it is read once more.
const AGE: Duration = Duration::from_secs(120);

/// The task that does it.
#[derive(Clone)]
pub(crate) struct Housekeeping {
    database: Arc<Database>,
    scheduler: Arc<Scheduler>,
    blob: Blob,
    /// Percent of the file system that files may take before it is said that it fills up.
    threshold: u32,
}

impl Housekeeping {
    pub(crate) fn new(parts: &Parts, scheduler: Arc<Scheduler>) -> Self {
        Self {
            database: Arc::clone(&parts.database),
            scheduler,
            blob: parts.blob.clone(),
            threshold: parts.settings.storage.filesystem_usage_threshold,
        }
    }

    /// Keeps house until stopped.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(FLUSH);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut tidying = tokio::time::interval(TIDY);
        let mut aging = tokio::time::interval_at(Instant::now() + AGE, AGE);
        aging.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut following = tokio::time::interval_at(Instant::now() + FOLLOW, FOLLOW);
        following.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => self.save_check_ins().await,
                _ = tidying.tick() => {
                    self.database.tidy(self.database.now());
                    self.scheduler.tidy(self.database.now());
                    self.release_clusters().await;
                    self.watch_file_system().await;
                }
                _ = aging.tick() => self.database.age_caches(),
                _ = following.tick() => self.follow_time().await,
                () = stop.cancelled() => return,
            }
        }
    }

    async fn follow_time(&self) {
        if let Err(error) = self.database.follow_time(false).await {
            tracing::debug!(error = %chain(&error), "the database did not tell its time");
        }
    }

    /// Counts clusters as set aside no more that another replica has deregistered.
    async fn release_clusters(&self) {
        for id in self.database.metrics().clusters_aside() {
            if let Ok(None) = self.database.cached_cluster(id).await {
                self.database.metrics().release_cluster(id);
            }
        }
    }

    /// Warns when there is little room left for files.
    async fn watch_file_system(&self) {
        let threshold = self.threshold;
        match self.blob.usage().await {
            Ok(Some(percent)) if percent >= threshold => {
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
        let check_ins = &self.database.cache().check_ins;
        let unsaved = check_ins.take_unsaved();
        if unsaved.is_empty() {
            return;
        }
        if let Err(error) = self.database.flush_check_ins(&unsaved).await {
            tracing::warn!(hosts = unsaved.len(), error = %chain(&error), "check-ins not written, will try again");
            check_ins.give_back(&unsaved);
        }
    }
}
