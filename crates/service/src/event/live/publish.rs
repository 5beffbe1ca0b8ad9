//! The task that reads what changed, once for all who watch.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use assisted_base::error::chain;
use assisted_core::model::host::HostKey;
use assisted_core::model::report::ReportKind;
use assisted_store::{Change as Stored, Deleted, HostRow, Subject};
use assisted_wire::cluster::Cluster;
use assisted_wire::host::Host;
use assisted_wire::id::{ClusterId, InfraEnvId};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

use super::Change;
use crate::Error;
use crate::event::Events;
use crate::view::cluster::render_without_hosts;
use crate::view::event::render_event;
use crate::view::host::render_host;

/// How often it is seen whether anybody still watches.
const SWEEP: Duration = Duration::from_secs(5);
/// Between attempts to read from a database that is away.
const PAUSE: Duration = Duration::from_secs(1);
/// Changes that are taken together: those of one object are published once.
const TOGETHER: usize = 1024;
/// Events that are read again, because one with a lower number may be committed after one with a higher number.
const AGAIN: u32 = 64;
/// Events that are published at a time; after more of them, all watchers begin anew.
const MOST_EVENTS: u32 = 10_000;

/// What has to be read.
#[derive(Default)]
struct ChangedObjects {
    hosts: HashSet<HostKey>,
    clusters: HashSet<ClusterId>,
    infra_envs: HashSet<InfraEnvId>,
    missed: bool,
}

impl ChangedObjects {
    fn add(&mut self, change: Stored) {
        match change {
            Stored::Here(Subject::Host(key)) | Stored::Elsewhere(Subject::Host(key)) => {
                self.hosts.insert(key);
            }
            Stored::Here(Subject::Cluster(id)) | Stored::Elsewhere(Subject::Cluster(id)) => {
                self.clusters.insert(id);
            }
            Stored::Here(Subject::InfraEnv(id)) | Stored::Elsewhere(Subject::InfraEnv(id)) => {
                self.infra_envs.insert(id);
            }
            Stored::Here(_) | Stored::Elsewhere(_) => {}
            Stored::Everything => self.missed = true,
        }
    }

    fn is_enough(&self) -> bool {
        self.hosts.len() + self.clusters.len() + self.infra_envs.len() >= TOGETHER
    }
}

/// Which events were published.
struct PublishedEvents {
    newest: i64,
    /// The numbers of the last ones.
    recent: BTreeSet<i64>,
}

impl PublishedEvents {
    /// Events with higher numbers may have to be published.
    fn floor(&self) -> i64 {
        self.newest - i64::from(AGAIN)
    }
}

/// Publishes what changes, to who watches.
pub(crate) struct Publisher(Events);

impl Publisher {
    pub(crate) fn new(events: Events) -> Self {
        Self(events)
    }

    /// Tells who watches what changes, until the service stops.
    pub(crate) async fn run(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = self.0.live.is_watched() => {}
                () = stop.cancelled() => return,
            }
            tokio::select! {
                () = self.publish_while_watched() => {}
                () = stop.cancelled() => return self.0.live.close(),
            }
        }
    }

    async fn publish_while_watched(&self) {
        let mut changes = self.0.database.reader().changes();
        let mut marks = self.0.database.reader().event_marks();
        let found = loop {
            match self.0.database.reader().events_after(0, None, AGAIN).await {
                Ok(found) => break found,
                Err(error) => {
                    tracing::warn!(error = %chain(&error), "who watches has to wait for the database");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        };
        let recent = found.events.into_iter().map(|(number, _)| number).collect();
        let mut published = PublishedEvents { newest: found.newest, recent };
        self.0.live.open(rand::random(), published.newest);
        let mut sweeps = tokio::time::interval(SWEEP);
        loop {
            let mut changed = ChangedObjects::default();
            tokio::select! {
                change = changes.recv() => match change {
                    Ok(change) => changed.add(change),
                    Err(RecvError::Lagged(_)) => changed.missed = true,
                    Err(RecvError::Closed) => return,
                },
                // The sender lives as long as the store.
                _ = marks.changed() => {}
                _ = sweeps.tick() => if self.0.live.sweep(Instant::now()) { continue } else { return },
            }
            while !changed.is_enough() {
                match changes.try_recv() {
                    Ok(change) => changed.add(change),
                    Err(TryRecvError::Lagged(_)) => changed.missed = true,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            marks.mark_unchanged();
            let published = self.publish(&changed, &mut published);
            if let Err(error) = published.await {
                tracing::warn!(error = %chain(&error), "changes are not published");
                changed.missed = true;
                tokio::time::sleep(PAUSE).await;
            }
            if changed.missed {
                self.0.live.miss();
            }
        }
    }

    /// Events first: they say what led to the rest. What is read of an object may be newer than the change that is published;
    /// then it is published before what else belongs to the newer one.
    async fn publish(&self, changed: &ChangedObjects, published: &mut PublishedEvents) -> Result<(), Error> {
        self.publish_events(published).await?;
        if changed.missed {
            return Ok(());
        }
        for key in &changed.hosts {
            self.publish_host(*key).await?;
        }
        for id in &changed.clusters {
            if self.0.live.is_wanted(&[*id])
                && let Some(cluster) = self.0.watched_cluster(*id).await?
            {
                self.0.live.push(Change::Cluster(Box::new(cluster)), vec![*id], None);
            }
        }
        for id in changed.infra_envs.iter().filter(|_| self.0.live.wants_infra_envs()) {
            let change = match self.0.database.reader().infra_env(*id).await? {
                Some(stored) => Change::InfraEnv(Box::new(stored.record.infra_env)),
                None => Change::InfraEnvDeleted(*id),
            };
            self.0.live.push(change, Vec::new(), None);
        }
        Ok(())
    }

    async fn publish_host(&self, key: HostKey) -> Result<(), Error> {
        let Some(row) = self.0.database.reader().host(key, Deleted::Shown).await? else { return Ok(()) };
        let cluster = row.record.host.cluster_id;
        let before =
            self.0.live.set_cluster_of_host(key, cluster.filter(|_| row.record.host.deleted_at.is_none()));
        let mut clusters: Vec<_> = cluster.into_iter().chain(before).collect();
        clusters.dedup();
        if self.0.live.is_wanted(&clusters) {
            let host = self.0.watched_host(row).await?;
            self.0.live.push(Change::Host(Box::new(host)), clusters, None);
        }
        Ok(())
    }

    async fn publish_events(&self, published: &mut PublishedEvents) -> Result<(), Error> {
        let found = self.0.database.reader().events_after(published.floor(), None, MOST_EVENTS).await?;
        // Once the newest events were deleted, their numbers may be given out again and mean nothing.
        if found.newest < published.newest || found.events.len() >= MOST_EVENTS as usize {
            published.recent = found.events.into_iter().map(|(number, _)| number).collect();
            published.newest = found.newest;
            self.0.live.miss();
            return Ok(());
        }
        for (number, event) in found.events {
            let clusters = Vec::from_iter(event.cluster_id);
            if published.recent.insert(number) && self.0.live.is_wanted(&clusters) {
                let event = Change::Event(Box::new(render_event(event)));
                self.0.live.push(event, clusters, Some(number));
            }
        }
        published.newest = found.newest;
        published.recent = published.recent.split_off(&published.floor());
        Ok(())
    }
}

impl Events {
    /// A cluster as watchers see it; deleted ones too.
    pub(super) async fn watched_cluster(&self, id: ClusterId) -> Result<Option<Cluster>, Error> {
        Ok(self
            .database
            .reader()
            .cluster(id, Deleted::Shown)
            .await?
            .map(|stored| render_without_hosts(&stored.record)))
    }

    /// A host as watchers see it: with its name and its stages, without its reports and the password of its board.
    pub(super) async fn watched_host(&self, mut row: HostRow) -> Result<Host, Error> {
        // Hosts that were given no name are known by the one that they report.
        if let Some(report) = self.database.reader().report(row.key, ReportKind::Inventory).await? {
            row.reports.insert(ReportKind::Inventory, report);
        }
        let cluster = match row.record.host.cluster_id {
            Some(id) => self.database.cached_cluster(id).await.map_err(crate::attempt::final_error)?,
            None => None,
        };
        let facts = self.database.facts_of_host(row).await?;
        let mut host = render_host(&facts, cluster.as_ref().map(|stored| &stored.record), true);
        host.inventory.clear();
        // One text is made for all who watch, also for those who may not see passwords.
        host.fencing_credentials.clear();
        Ok(host)
    }
}
