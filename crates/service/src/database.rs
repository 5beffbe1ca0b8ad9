//! The database and what is cached of it, behind one handle.
//!
//! Everybody may read: [`Database::reader`] gives out what can do nothing else. The store is a private field, so that
//! [`Database::commit`] is the only way to write. The store invalidates the cache by what a batch has touched before the writer hears of the
//! end of its batch, so no use case has to know what is cached.

use std::sync::Arc;

use assisted_base::error::chain;
use assisted_config::Settings;
use assisted_core::model::event::NewEvent;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_core::policy::Policy;
use assisted_store::{
    Batch, Due, LeasedItem, Observer, OutboxLimits, QueuedAction, Reader, Sink, Store, UserStore, WriteError,
};
use assisted_wire::id::ClusterId;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::cache::Cache;
use crate::event_limit::Limits;
use crate::metrics::{Caches, Held, Metrics};
use crate::stream::Stream;
use crate::{Caller, Clock, Error};

/// The store, the cache that observes it, which events were emitted lately, and what facts are made of besides records: the
/// policy and the time. All rooms of the service share one.
#[derive(Debug)]
pub(crate) struct Database {
    store: Store,
    cache: Arc<Cache>,
    limits: Limits,
    policy: Arc<Policy>,
    clock: Clock,
    metrics: Metrics,
    stream: Stream,
}

/// What is cached of a database, for the metrics.
#[derive(Debug)]
struct MeasuredCaches {
    cache: Arc<Cache>,
    reader: Reader,
}

impl Caches for MeasuredCaches {
    fn held(&self) -> Vec<(&'static str, Held)> {
        let Cache { check_ins, hosts, clusters, infra_envs, groups, parsed, passed } = &*self.cache;
        let [inventories, connectivity] = parsed.weights();
        vec![
            ("clusters", Held::Entries(clusters.count())),
            ("infra_envs", Held::Entries(infra_envs.count())),
            ("hosts", Held::Entries(hosts.count())),
            ("check_ins", Held::Entries(check_ins.count())),
            ("groups", Held::Entries(groups.count())),
            ("texts", Held::Bytes(self.reader.cached_bytes())),
            ("inventories", Held::Bytes(inventories)),
            ("connectivity", Held::Bytes(connectivity)),
            ("passed_hosts", Held::Bytes(passed.weight())),
        ]
    }
}

impl Database {
    /// A handle whose cache hears of each commit from now on.
    pub(crate) fn new(
        store: Store,
        settings: &Settings,
        policy: Arc<Policy>,
        clock: Clock,
        metrics: Metrics,
        stream: Stream,
    ) -> Self {
        let cache = Arc::new(Cache::default());
        let observer: Arc<dyn Observer> = Arc::<Cache>::clone(&cache);
        store.observe(&observer);
        metrics.watch_caches(MeasuredCaches { cache: Arc::clone(&cache), reader: Reader::clone(&store) });
        Self { store, cache, limits: Limits::new(settings), policy, clock, metrics, stream }
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.store
    }

    /// People and their tokens, of which nothing is cached.
    pub(crate) fn people(&self) -> UserStore {
        self.store.people()
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The cache for what works on another thread.
    pub(crate) fn shared_cache(&self) -> Arc<Cache> {
        Arc::clone(&self.cache)
    }

    /// What is counted and timed.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What is told to others.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// What the domain decides by.
    pub(crate) fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Stores what a refusal leaves behind, and makes it the caller's error.
    pub(crate) async fn reject(&self, rejection: RefusalWithEvents, caller: &Caller) -> Error {
        let request = Some(caller.request_id);
        if let Err(error) = self.commit(Batch::new(), &rejection.events, request, self.now()).await {
            // The refusal stands, whether or not its events do.
            tracing::warn!(error = %chain(&error), "a refusal's events are lost");
        }
        rejection.refusal.into()
    }

    /// Writes a batch together with events, except those that were emitted too short a while ago.
    pub(crate) async fn commit(
        &self,
        mut batch: Batch,
        events: &[NewEvent],
        request_id: Option<Uuid>,
        now: Timestamp,
    ) -> Result<(), WriteError> {
        let emitted: Vec<_> = events.iter().filter(|event| self.limits.claim(event, now)).collect();
        for event in &emitted {
            batch.insert_event(event, now, request_id);
            self.stream.emitted(&mut batch, event, request_id, now);
        }
        if batch.is_empty() {
            return Ok(());
        }
        let written = self.store.write(batch).await;
        if written.is_err() {
            emitted.into_iter().for_each(|event| self.limits.give_up(event));
        }
        written
    }

    /// Writes a batch of which no event is emitted.
    pub(crate) async fn commit_silently(&self, batch: Batch) -> Result<(), WriteError> {
        self.store.write(batch).await
    }

    /// Returns when nothing can be written any more: see [`Store::writer_ended`].
    pub(crate) async fn writer_ended(&self) {
        self.store.writer_ended().await;
    }

    /// Takes rows that are due: see [`Store::take_due`].
    pub(crate) async fn take_due(
        &self,
        owner: &str,
        now: Timestamp,
        limit: u32,
        lease: SignedDuration,
    ) -> Result<Vec<LeasedItem>, WriteError> {
        self.store.take_due(owner, now, limit, lease).await
    }

    /// Keeps due work for longer: see [`Store::keep_due`].
    pub(crate) async fn keep_due(&self, taken: &LeasedItem, until: Timestamp) -> Result<bool, WriteError> {
        self.store.keep_due(taken, until).await
    }

    /// Makes due work that was set aside due at once: see [`Store::release_due`].
    pub(crate) async fn release_due(&self, due: Due, now: Timestamp) -> Result<bool, WriteError> {
        self.store.release_due(due, now).await
    }

    /// Makes an action that was set aside due at once: see [`Store::release_action`].
    pub(crate) async fn release_action(
        &self,
        cluster_id: ClusterId,
        id: i64,
        now: Timestamp,
    ) -> Result<bool, WriteError> {
        self.store.release_action(cluster_id, id, now).await
    }

    /// Removes messages of which there are too many: see [`Store::trim_outbox`].
    pub(crate) async fn trim_outbox(&self, sink: Sink, limits: OutboxLimits) -> Result<u64, WriteError> {
        self.store.trim_outbox(sink, limits).await
    }

    /// Has messages that were set aside sent again: see [`Store::release_messages`].
    pub(crate) async fn release_messages(&self, sink: Sink) -> Result<u64, WriteError> {
        self.store.release_messages(sink).await
    }

    /// Takes actions: see [`Store::take_actions`].
    pub(crate) async fn take_actions(
        &self,
        owner: &str,
        now: Timestamp,
        limit: u32,
        lease: SignedDuration,
    ) -> Result<Vec<QueuedAction>, WriteError> {
        self.store.take_actions(owner, now, limit, lease).await
    }

    /// Keeps an action for longer: see [`Store::keep_action`].
    pub(crate) async fn keep_action(&self, asked: &QueuedAction, until: Timestamp) -> Result<(), WriteError> {
        self.store.keep_action(asked, until).await
    }

    /// Frees what a process that died had taken: see [`Store::free_leases`].
    pub(crate) async fn free_leases(&self, now: Timestamp) -> Result<(), WriteError> {
        self.store.free_leases(now).await
    }

    /// Compares the clock with its reference, which is that of a shared database: replicas tell one time, however their machines
    /// differ. `is_start`: takes it over at once.
    pub(crate) async fn follow_time(&self, is_start: bool) -> Result<(), Error> {
        let reference = self.store.time().await?;
        if is_start {
            self.clock.set(reference);
        } else {
            self.clock.follow(reference);
        }
        Ok(())
    }

    /// Mends what was written when the clock was ahead: see [`Store::return_from_future`].
    pub(crate) async fn return_from_future(&self) -> Result<(), WriteError> {
        let hosts = self.store.return_from_future(self.now()).await?;
        if hosts > 0 {
            tracing::warn!(
                hosts,
                "hosts were heard in the future: the clock was ahead when that was written. It counts as now, and all work that                  waits is looked at"
            );
        }
        Ok(())
    }

    /// Writes when hosts were last heard: see [`Store::flush_checkins`].
    pub(crate) async fn flush_check_ins(&self, heard: &[(HostKey, Timestamp)]) -> Result<(), WriteError> {
        self.store.flush_checkins(heard).await
    }

    /// Forgets which events were emitted longer ago than matters.
    pub(crate) fn tidy(&self, now: Timestamp) {
        self.limits.tidy(now);
    }

    /// Drops what is cached and nobody wanted lately: reports of hosts that are gone would stay until others take their place.
    pub(crate) fn age_caches(&self) {
        self.store.age_texts();
        self.cache.age();
    }
}
