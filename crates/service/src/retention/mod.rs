//! What was kept long enough goes, a few at a time (service-api §16.3).
//!
//! Each kind is a row of due work like any other, so that only one replica sweeps at a time. The settings say how often it
//! is due and how much may go in that time; what goes at once is less, so that nothing else has to wait for it: as long as
//! there is more, it is due the sooner.

mod clusters;
mod events;
mod infra_envs;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use assisted_config::Settings;
use assisted_store::{Batch, Due, LeasedItem, Sweep};
use jiff::{SignedDuration, Timestamp};

use crate::attempt::AttemptError;
use crate::cluster::Clusters;
use crate::database::Database;
use crate::parts::Parts;

/// So many go at once.
const STEP: usize = 20;

/// Not even settings make it run without a pause.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// When what goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    enabled: bool,
    /// How often it is looked for.
    interval: Duration,
    /// How long it is kept.
    kept: Duration,
    /// How much goes in an interval at the most; `None`: all.
    most: Option<usize>,
}

impl Rule {
    /// What an object of the Kubernetes API describes goes with the object, however old it is.
    fn of(settings: &Settings, sweep: Sweep) -> Self {
        let (by_age, settings) = (!settings.kube.enabled, &settings.retention);
        match sweep {
            Sweep::InactiveClusters => Self {
                enabled: by_age && settings.enable_deregister_inactive,
                interval: settings.deregister_worker_interval,
                kept: settings.deleted_inactive_after,
                most: Some(settings.max_clusters_per_interval),
            },
            Sweep::Deregistered | Sweep::EventsOfNothing => Self {
                enabled: settings.enable_delete_unregistered,
                interval: settings.deletion_worker_interval,
                kept: settings.deleted_unregistered_after,
                most: None,
            },
            Sweep::UnusedInfraEnvs => Self {
                enabled: by_age,
                interval: settings.infraenv_deletion_worker_interval,
                kept: settings.infraenv_deleted_inactive_after,
                most: Some(settings.max_infraenvs_per_interval),
            },
        }
    }

    /// How much may go at once.
    fn step(&self) -> usize {
        self.most.map_or(STEP, |most| most.min(STEP))
    }

    /// How long to wait after so much was found.
    fn pause(&self, found: usize) -> Duration {
        let interval = self.interval.max(LEAST_PAUSE);
        match (self.step(), self.most) {
            (step, _) if found < step || step == 0 => interval,
            (_, None) => LEAST_PAUSE,
            (step, Some(most)) => interval.mul_f64(step as f64 / most as f64).max(LEAST_PAUSE),
        }
    }
}

/// Runs the sweeps.
pub(crate) struct Sweeper {
    database: Arc<Database>,
    settings: Arc<Settings>,
    clusters: Clusters,
    /// Number of the event up to which they were looked at; 0: from the first on.
    events_seen: AtomicI64,
}

impl Sweeper {
    pub(crate) fn new(parts: &Parts, clusters: Clusters) -> Self {
        Self {
            database: Arc::clone(&parts.database),
            settings: Arc::clone(&parts.settings),
            clusters,
            events_seen: AtomicI64::new(0),
        }
    }

    /// Sets when each kind is looked for first, unless another start has set it earlier.
    pub(crate) async fn plan(&self) -> Result<(), AttemptError> {
        let mut batch = Batch::new();
        for sweep in Sweep::ALL {
            let rule = Rule::of(&self.settings, sweep);
            if rule.enabled {
                batch.mark_due(Due::Sweep(sweep), later(self.database.now(), rule.pause(0)));
            } else {
                batch.clear_due(Due::Sweep(sweep));
            }
        }
        Ok(self.database.commit_silently(batch).await?)
    }

    /// Lets a few things of a kind go, and sets when to look again.
    pub(crate) async fn run(
        &self,
        taken: &LeasedItem,
        sweep: Sweep,
    ) -> Result<Option<Timestamp>, AttemptError> {
        let rule = Rule::of(&self.settings, sweep);
        let (now, mut next) = (self.database.now(), None);
        if rule.enabled {
            let (before, limit) = (earlier(now, rule.kept), u32::try_from(rule.step()).unwrap_or(0));
            let found = match sweep {
                Sweep::InactiveClusters => Box::pin(self.deregister_inactive_clusters(before, limit)).await?,
                Sweep::Deregistered => self.delete_deregistered(before, limit).await?,
                Sweep::UnusedInfraEnvs => self.remove_unused_infra_envs(before, limit).await?,
                Sweep::EventsOfNothing => self.delete_events_of_nothing(before).await?,
            };
            next = Some(later(now, rule.pause(found)));
        }
        let mut batch = Batch::new();
        batch.finish_due(taken, next);
        self.database.commit_silently(batch).await?;
        Ok(next)
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(signed(by)).unwrap_or(Timestamp::MAX)
}

fn earlier(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_sub(signed(by)).unwrap_or(Timestamp::MIN)
}

fn signed(duration: Duration) -> SignedDuration {
    duration.try_into().unwrap_or(SignedDuration::MAX)
}

/// One thing that can't go must not hold up the others: its error is logged, and tried again when it is found again.
fn or_log(what: impl std::fmt::Display, gone: Result<(), AttemptError>) {
    match gone {
        Ok(()) => {}
        // Somebody touched it just now.
        Err(AttemptError::Conflict(_)) => tracing::debug!(%what, "kept: it changed meanwhile"),
        Err(AttemptError::Rejected(rejection)) => {
            tracing::info!(%what, reason = rejection.refusal.reason, "kept for now");
        }
        Err(AttemptError::Failed(error)) => tracing::warn!(%what, %error, "can't be removed, will try again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_goes_than_the_settings_allow() {
        let hour = Duration::from_secs(3600);
        let settings = Settings::default();
        let rule = Rule::of(&settings, Sweep::InactiveClusters);
        assert_eq!((rule.step(), rule.pause(0), rule.pause(19)), (STEP, hour, hour));
        assert_eq!(rule.pause(STEP), hour / 5, "five times twenty in an hour");
        let few = Rule { most: Some(3), ..rule };
        assert_eq!((few.step(), few.pause(3), few.pause(2)), (3, hour, hour));
        let none = Rule { most: Some(0), ..rule };
        assert_eq!((none.step(), none.pause(0)), (0, hour));
        let all = Rule::of(&settings, Sweep::Deregistered);
        assert_eq!((all.pause(STEP), all.pause(1)), (Duration::from_secs(1), hour));
        let hasty = Rule { interval: Duration::ZERO, ..all };
        assert_eq!(hasty.pause(0), Duration::from_secs(1));
    }
}
