//! One piece of work on a cluster with its hosts, or on one host of a pool: loaded at one moment, changed by decisions of
//! the domain, written in one batch that holds only if nothing it was decided on changed meanwhile.

mod decide;
mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assisted_core::catalogue::feature::usage::Usages;
use assisted_core::decide::measure::{self, HostBefore};
use assisted_core::decide::refresh::{refresh, refresh_after};
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::decision::{Decision, HostChange};
use assisted_core::model::event::NewEvent;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::host::{HostKey, HostRecord};
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::measurement::Measurement;
use assisted_core::model::report::ReportKind;
use assisted_core::validation::PassedHosts;
use assisted_store::{Batch, Due, MarkCount, Version};
use assisted_wire::host::HostRole;
use assisted_wire::id::InfraEnvId;
use jiff::Timestamp;
use uuid::Uuid;

use crate::Error;
use crate::attempt::AttemptError;
use crate::database::Database;
use crate::off_thread::{LARGE, LONG, off_thread_if};

/// What the domain decides, by what earlier looks have found where that is kept.
fn decision(facts: &Facts, passed: Option<&mut Arc<PassedHosts>>) -> Decision {
    match passed {
        Some(passed) => refresh_after(Arc::make_mut(passed), facts),
        None => refresh(facts),
    }
}

/// Facts, what of them changed, and what else is to be written.
#[derive(Debug)]
pub(crate) struct UnitOfWork {
    pub(crate) facts: Facts,
    /// Events, in order.
    pub(crate) events: Vec<NewEvent>,
    /// Further writes of the same batch.
    pub(crate) batch: Batch,
    /// What is counted and timed besides what is found in the changes themselves.
    pub(crate) measured: Vec<Measurement>,
    /// Stands in the events; none for what the service does by itself.
    pub(crate) request_id: Option<Uuid>,
    cluster_version: Option<Version>,
    /// How often the cluster had been marked due when it was loaded.
    marks: Option<MarkCount>,
    host_versions: BTreeMap<HostKey, Version>,
    cluster_changed: bool,
    /// The cluster before it was changed first; `None` while it is not changed, or when it is new.
    cluster_before: Option<Box<ClusterRecord>>,
    /// The hosts before they were changed first.
    hosts_before: BTreeMap<HostKey, HostBefore>,
    hosts_added: BTreeSet<HostKey>,
    hosts_changed: BTreeSet<HostKey>,
    reports_changed: BTreeSet<(HostKey, ReportKind)>,
    /// Hosts that are written, but no longer part of the facts.
    left: Vec<HostFacts>,
    hosts_removed: Vec<HostRecord>,
    infra_envs_changed: BTreeSet<InfraEnvId>,
    infra_envs_removed: Vec<InfraEnvId>,
    /// Whether something changed that other hosts of the cluster are told about.
    mates_changed: bool,
    /// What earlier looks at the cluster have found, where it has many hosts.
    passed: Option<Arc<PassedHosts>>,
}

impl UnitOfWork {
    /// Work on these facts, of which nothing is to be written yet.
    pub(crate) fn new(facts: Facts) -> Self {
        Self {
            facts,
            events: Vec::new(),
            measured: Vec::new(),
            batch: Batch::new(),
            request_id: None,
            cluster_version: None,
            marks: None,
            host_versions: BTreeMap::new(),
            cluster_changed: false,
            cluster_before: None,
            hosts_before: BTreeMap::new(),
            hosts_added: BTreeSet::new(),
            hosts_changed: BTreeSet::new(),
            reports_changed: BTreeSet::new(),
            left: Vec::new(),
            hosts_removed: Vec::new(),
            infra_envs_changed: BTreeSet::new(),
            infra_envs_removed: Vec::new(),
            mates_changed: false,
            passed: None,
        }
    }

    /// The cluster; only work that was loaded for a cluster, or for a host that has one, has one.
    pub(crate) fn cluster(&self) -> Option<&ClusterRecord> {
        self.facts.cluster.as_ref()
    }

    /// A host of the work.
    pub(crate) fn host(&self, key: HostKey) -> Option<&HostFacts> {
        self.facts.host(key).ok()
    }

    /// The infra-env of a host of the work.
    pub(crate) fn infra_env(&self, id: InfraEnvId) -> Option<&InfraEnvRecord> {
        self.facts.infra_envs.get(&id)
    }

    /// Puts another record of an infra-env in place.
    pub(crate) fn update_infra_env(&mut self, record: InfraEnvRecord, version: Version) {
        self.batch.update_infra_env(&record, version);
        self.infra_envs_changed.insert(record.infra_env.id);
        // What the hosts of its cluster are told depends on it, wherever they were registered.
        self.mates_changed = true;
        self.facts.infra_envs.insert(record.infra_env.id, record);
    }

    /// Deletes an infra-env, and then the hosts that registered just before it went.
    pub(crate) fn remove_infra_env(&mut self, id: InfraEnvId, version: Version) {
        self.batch.delete_infra_env(id, version);
        self.infra_envs_removed.push(id);
    }

    /// What is due when this work's facts change.
    pub(crate) fn due(&self) -> Option<Due> {
        match (&self.facts.cluster, self.facts.hosts.first()) {
            (Some(record), _) => Some(Due::Cluster(record.cluster.id)),
            (None, Some(host)) => Some(Due::Host(host.key())),
            (None, None) => None,
        }
    }

    /// Puts another cluster record in place.
    pub(crate) fn put_cluster(&mut self, mut record: ClusterRecord) {
        record.cluster.updated_at = self.facts.now.into();
        let before = self.facts.cluster.replace(record);
        if !self.cluster_changed {
            self.cluster_before = before.map(Box::new);
        }
        self.cluster_changed = true;
    }

    /// Notes with the cluster, if there is one, which features are used.
    pub(crate) fn record_usage(&mut self, note: impl FnOnce(&mut Usages)) {
        let Some(record) = &self.facts.cluster else { return };
        let mut usages = Usages::read(&record.cluster.feature_usage);
        let before = usages.clone();
        note(&mut usages);
        if usages != before {
            let mut record = record.clone();
            record.cluster.feature_usage = usages.write();
            self.put_cluster(record);
        }
    }

    /// Lays a host's change over the facts.
    pub(crate) fn change_host(&mut self, change: HostChange) {
        let Some(host) = self.facts.hosts.iter_mut().find(|host| host.key() == change.key) else { return };
        self.hosts_before.entry(change.key).or_insert_with(|| HostBefore::of(host));
        if let Some(mut record) = change.record {
            // Only hosts in some states are named to the others.
            self.mates_changed |= record.host.status != host.record.host.status;
            record.host.updated_at = self.facts.now.into();
            host.record = record.into();
            self.hosts_changed.insert(change.key);
        }
        for (kind, text) in change.reports {
            host.put_report(kind, text.into());
            self.mates_changed |= kind == ReportKind::Inventory;
            self.reports_changed.insert((change.key, kind));
        }
    }

    /// Takes over what a decision about a host brought; its cluster is still to be looked at.
    pub(crate) fn merge(&mut self, decided: Decision) {
        self.apply(decided);
    }

    /// Takes a stored host into the facts.
    pub(crate) fn add_stored(&mut self, host: HostFacts, version: Version) {
        self.host_versions.insert(host.key(), version);
        self.facts.hosts.push(host);
    }

    /// Takes a host into the facts that is not stored yet.
    pub(crate) fn add_new(&mut self, record: HostRecord) {
        self.hosts_added.insert(key_of(&record));
        let checked_in_at = record.host.checked_in_at.0;
        self.facts.hosts.push(HostFacts::new(record, checked_in_at));
    }

    /// Lets roles that were left to the service be chosen anew.
    pub(crate) fn reset_suggested_roles(&mut self) {
        let open = |host: &&HostFacts| {
            let fields = &host.record.host;
            matches!(fields.role, None | Some(HostRole::AutoAssign)) && fields.suggested_role.is_some()
        };
        for host in self.facts.hosts.iter().filter(open).cloned().collect::<Vec<_>>() {
            let (key, mut record) = (host.key(), host.record.into_inner());
            record.host.suggested_role = Some(HostRole::AutoAssign);
            self.change_host(HostChange { key, record: Some(record), reports: Vec::new() });
        }
    }

    /// Soft-deletes a host.
    pub(crate) fn remove_host(&mut self, key: HostKey) {
        let Some(at) = self.facts.hosts.iter().position(|host| host.key() == key) else { return };
        let mut record = self.facts.hosts.remove(at).record;
        record.host.deleted_at = Some(self.facts.now.into());
        record.host.updated_at = self.facts.now.into();
        self.hosts_changed.remove(&key);
        self.reports_changed.retain(|(changed, _)| *changed != key);
        self.hosts_removed.push(record.into_inner());
        self.mates_changed = true;
    }

    /// Takes a host out of the facts that left its cluster; it is due on its own from now on.
    pub(crate) fn unbind_host(&mut self, key: HostKey) {
        let Some(at) = self.facts.hosts.iter().position(|host| host.key() == key) else { return };
        self.left.push(self.facts.hosts.remove(at));
        if let Some(record) = &self.facts.cluster {
            self.batch.leave_cluster(key, record.cluster.id);
        }
        self.batch.mark_due(Due::Host(key), self.facts.now);
        self.mates_changed = true;
    }

    /// Takes the host of other work into these facts: it joined the cluster.
    pub(crate) fn bind_host(&mut self, other: Self) {
        for host in other.facts.hosts {
            self.batch.clear_due(Due::Host(host.key()));
            self.facts.hosts.push(host);
        }
        self.facts.hosts.sort_by_key(|host| host.record.host.created_at);
        self.facts.infra_envs.extend(other.facts.infra_envs);
        self.host_versions.extend(other.host_versions);
        self.hosts_changed.extend(other.hosts_changed);
        self.reports_changed.extend(other.reports_changed);
        self.hosts_before.extend(other.hosts_before);
        self.events.extend(other.events);
        self.measured.extend(other.measured);
        self.mates_changed = true;
    }

    /// The size of what the hosts reported, in bytes: what it takes to decide grows with it.
    pub(crate) fn snapshot_bytes(&self) -> usize {
        self.facts.hosts.iter().flat_map(|host| host.reports.values()).map(|report| report.len()).sum()
    }

    /// Decides what follows from the facts; returns when to look again.
    pub(crate) fn refresh(&mut self) -> Option<Timestamp> {
        let decided = decision(&self.facts, self.passed.as_mut());
        self.apply(decided)
    }

    /// Takes over what the domain decided; returns when to look again.
    fn apply(&mut self, decided: Decision) -> Option<Timestamp> {
        for change in decided.hosts {
            self.change_host(change);
        }
        if let Some(record) = decided.cluster {
            self.put_cluster(record);
        }
        self.events.extend(decided.events);
        for action in &decided.actions {
            self.batch.enqueue(action, self.facts.now);
        }
        for (key, problem) in decided.problems {
            tracing::warn!(host = %key.host_id, infra_env = %key.infra_env_id, problem, "a host can't be judged");
        }
        decided.next_check
    }

    /// Decides, and leaves it to the scheduler to look again when the time comes.
    ///
    /// # Errors
    ///
    /// The runtime ends.
    pub(crate) async fn refresh_and_mark(&mut self) -> Result<(), Error> {
        let decided = if self.snapshot_bytes() < LARGE {
            decision(&self.facts, self.passed.as_mut())
        } else {
            let (policy, now) = (Arc::clone(&self.facts.policy), self.facts.now);
            let none = Facts { cluster: None, hosts: Vec::new(), infra_envs: BTreeMap::new(), policy, now };
            let given = Box::new((std::mem::replace(&mut self.facts, none), self.passed.take()));
            let (given, decided) =
                off_thread_if(true, given, |given| decision(&given.0, given.1.as_mut())).await?;
            (self.facts, self.passed) = *given;
            decided
        };
        self.apply_and_mark(decided);
        Ok(())
    }

    /// Takes over what the domain decided, and leaves it to the scheduler to look again when the time comes, or at once if
    /// somebody else changed what it was decided on, though no row that is written here.
    pub(crate) fn apply_and_mark(&mut self, decided: Decision) {
        let (next, now) = (self.apply(decided), self.facts.now);
        match self.due() {
            Some(due @ Due::Cluster(_)) => {
                self.batch.mark_decided(due, self.marks, next.unwrap_or(now), now);
            }
            // To decide once more about one host costs less than to know whether it is needed.
            Some(due) => drop(self.batch.mark_due(due, now)),
            None => {}
        }
    }

    /// Asks the scheduler to look at the facts at once.
    pub(crate) fn mark_due(&mut self) {
        if let Some(due) = self.due() {
            self.batch.mark_due(due, self.facts.now);
        }
    }

    /// Whether nothing is to be written.
    pub(crate) fn is_idle(&self) -> bool {
        !self.cluster_changed
            && self.hosts_added.is_empty()
            && self.hosts_changed.is_empty()
            && self.reports_changed.is_empty()
            && self.hosts_removed.is_empty()
            && self.events.is_empty()
            && self.batch.is_empty()
    }

    /// Writes all that changed in one batch.
    pub(crate) async fn commit(mut self, database: &Database) -> Result<Facts, AttemptError> {
        // It is of what was loaded, whatever becomes of the changes.
        if let (Some(record), Some(passed)) = (&self.facts.cluster, self.passed.take()) {
            database.cache().passed.put(record.cluster.id, passed);
        }
        let measured = self.measure();
        self.events.extend(measured.iter().flat_map(Measurement::events));
        if self.is_idle() {
            return Ok(self.facts);
        }
        // What the use case adds comes first: a deleted host gives way to a new one of the same key.
        let mut batch = std::mem::take(&mut self.batch);
        if let (true, Some(record)) = (self.cluster_changed, &self.facts.cluster) {
            match self.cluster_version {
                Some(version) => batch.update_cluster(record, version),
                None => batch.insert_cluster(record),
            };
        }
        self.stream_changes(&mut batch, database);
        if self.changed_bytes() < LONG {
            self.write_hosts(&mut batch);
        } else {
            // They are hashed.
            let given = (Box::new(self), batch);
            let (given, ()) = off_thread_if(true, given, |(work, batch)| work.write_hosts(batch)).await?;
            batch = given.1;
            self = *given.0;
        }
        for record in &self.hosts_removed {
            let key = key_of(record);
            if let Some(version) = self.host_versions.get(&key) {
                batch.update_host(record, *version).clear_due(Due::Host(key));
            }
        }
        if let (true, false, Some(record)) = (self.mates_changed, self.cluster_changed, &self.facts.cluster) {
            batch.touch_members(record.cluster.id);
        }
        database.commit(batch, &self.events, self.request_id, self.facts.now).await?;
        database.metrics().record(&measured);
        for id in self.infra_envs_removed {
            Box::pin(database.deregister_hosts(self.request_id, id)).await?;
        }
        Ok(self.facts)
    }

    /// The size of the reports that are written, in bytes.
    fn changed_bytes(&self) -> usize {
        let changed = self.reports_changed.iter();
        changed.filter_map(|(key, kind)| Some(self.host(*key)?.reports.get(kind)?.len())).sum()
    }

    /// Writes the hosts that changed, with their reports.
    fn write_hosts(&self, batch: &mut Batch) {
        for host in self.facts.hosts.iter().chain(&self.left) {
            let key = host.key();
            if self.hosts_added.contains(&key) {
                batch.insert_host(&host.record);
            } else if let (true, Some(version)) =
                (self.hosts_changed.contains(&key), self.host_versions.get(&key))
            {
                batch.update_host(&host.record, *version);
            }
            for kind in ReportKind::ALL {
                if self.reports_changed.contains(&(key, *kind)) {
                    match host.reports.get(kind) {
                        Some(text) => batch.put_report(key, *kind, Arc::clone(text)),
                        None => batch.delete_report(key, *kind),
                    };
                }
            }
        }
    }

    /// Puts every change into the stream that clients follow.
    fn stream_changes(&self, batch: &mut Batch, database: &Database) {
        let (stream, now) = (database.stream(), self.facts.now);
        for infra_env in self.infra_envs_changed.iter().filter_map(|id| self.facts.infra_envs.get(id)) {
            stream.changed_infra_env(batch, &infra_env.infra_env, now);
        }
        if let (true, Some(record)) = (self.cluster_changed, &self.facts.cluster) {
            match self.cluster_version {
                Some(_) => stream.changed_cluster(batch, record, now),
                None => stream.added_cluster(batch, record, now),
            }
        }
        for host in self.facts.hosts.iter().chain(&self.left) {
            let key = host.key();
            let reported = self.reports_changed.iter().any(|(changed, _)| *changed == key);
            if reported || self.hosts_added.contains(&key) || self.hosts_changed.contains(&key) {
                stream.changed_host(batch, host, now);
            }
        }
    }

    /// What is counted and timed of all that changed.
    fn measure(&mut self) -> Vec<Measurement> {
        let mut all = std::mem::take(&mut self.measured);
        let (events, now) = (&self.events, self.facts.now);
        if let (true, Some(record)) = (self.cluster_changed, &self.facts.cluster) {
            all.extend(measure::of_cluster(self.cluster_before.as_deref(), record, events, now));
        }
        for host in self.facts.hosts.iter().chain(&self.left) {
            if let Some(before) = self.hosts_before.get(&host.key()) {
                all.extend(measure::of_host(before, host, events, now));
            }
        }
        all
    }
}

/// A host's key, as its record has it.
pub(crate) fn key_of(record: &HostRecord) -> HostKey {
    HostKey { infra_env_id: record.host.infra_env_id.unwrap_or_default(), host_id: record.host.id }
}
