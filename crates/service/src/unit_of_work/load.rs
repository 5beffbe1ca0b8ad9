//! What units of work begin with: facts, read at one moment.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::host::HostKey;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_store::{Deleted, HostFilter, HostRow, HostWithInfraEnv, Stored, Subject, Version};
use assisted_wire::id::{ClusterId, InfraEnvId};

use super::UnitOfWork;
use crate::Error;
use crate::attempt::AttemptError;
use crate::cache::Cache;
use crate::database::Database;
use crate::off_thread::{LONG, off_thread_if};

/// Hosts of a cluster from which on it is worth knowing whose validations need not run again.
const MANY: usize = 30;

impl Database {
    /// Loads a cluster with its hosts.
    pub(crate) async fn load_cluster(
        &self,
        id: ClusterId,
        deleted: Deleted,
    ) -> Result<Option<UnitOfWork>, AttemptError> {
        // On the heap: the room for it would be moved with each future that waits here.
        let Some(row) = self.reader().load_cluster(id, deleted).await?.map(Box::new) else { return Ok(None) };
        let versions: BTreeMap<_, _> = row.hosts.iter().map(|host| (host.key, host.version)).collect();
        let hosts = self.facts_of(row.hosts).await?;
        let mut work = UnitOfWork::new(self.facts());
        work.cluster_version = Some(row.cluster.version);
        work.marks = row.marks;
        work.facts.cluster = Some(row.cluster.record);
        work.facts.infra_envs = row.infra_envs.into_iter().map(by_id).collect();
        work.passed = (hosts.len() >= MANY).then(|| self.cache().passed.get(id));
        (work.host_versions, work.facts.hosts) = (versions, hosts);
        Ok(Some(work))
    }

    /// Loads a cluster as it is to be installed: without the hosts that a user took out, which what is generated must not
    /// count.
    pub(crate) async fn load_installation(&self, id: ClusterId) -> Result<Option<UnitOfWork>, AttemptError> {
        let loaded = self.load_cluster(id, Deleted::Hidden).await?;
        Ok(loaded.map(|work| UnitOfWork { facts: work.facts.without_disabled(), ..work }))
    }

    /// Loads a host, with its cluster and the cluster's other hosts if it is bound.
    pub(crate) async fn load_host(&self, key: HostKey) -> Result<Option<UnitOfWork>, AttemptError> {
        let Some(work) = self.load_host_alone(key).await? else { return Ok(None) };
        let Some(id) = work.facts.hosts.first().and_then(|host| host.record.host.cluster_id) else {
            return Ok(Some(work));
        };
        // Bound elsewhere or gone between the two readings: the caller sees the host as it was, and the guards decide.
        match self.load_cluster(id, Deleted::Hidden).await? {
            Some(whole) if whole.host(key).is_some() => Ok(Some(whole)),
            _ => Ok(Some(work)),
        }
    }

    /// Loads a host, with its cluster but without the cluster's other hosts: no work to refresh, but cheap.
    pub(crate) async fn load_host_alone(&self, key: HostKey) -> Result<Option<UnitOfWork>, AttemptError> {
        let Some(HostWithInfraEnv { host: row, infra_env, cluster_version }) =
            self.reader().load_host(key, Deleted::Hidden).await?
        else {
            return Ok(None);
        };
        let infra_envs = infra_env.into_iter().map(by_id).collect();
        let (version, cluster_id) = (row.version, row.record.host.cluster_id);
        let hosts = self.facts_of(vec![row]).await?;
        let mut work = UnitOfWork::new(self.facts());
        (work.facts.hosts, work.facts.infra_envs) = (hosts, infra_envs);
        work.host_versions.insert(key, version);
        if let Some(id) = cluster_id
            && let Some(cluster) = self.cluster_at_least(id, cluster_version).await?
        {
            work.cluster_version = Some(cluster.version);
            work.facts.cluster = Some(cluster.record.clone());
        }
        Ok(Some(work))
    }

    /// Work on nothing that is stored yet.
    pub(crate) fn blank_work(&self) -> UnitOfWork {
        UnitOfWork::new(self.facts())
    }

    /// Facts without a cluster or hosts.
    fn facts(&self) -> Facts {
        Facts {
            cluster: None,
            hosts: Vec::new(),
            infra_envs: BTreeMap::new(),
            policy: Arc::clone(self.policy()),
            now: self.now(),
        }
    }

    /// Hosts as the domain sees them. What they reported is read here, where that was not done lately.
    pub(crate) async fn facts_of(&self, rows: Vec<HostRow>) -> Result<Vec<HostFacts>, Error> {
        let parsed = &self.cache().parsed;
        let reports = rows.iter().flat_map(|row| &row.reports);
        let unread = reports.filter(|(kind, report)| !parsed.knows(**kind, report));
        let is_long = unread.map(|(_, report)| report.text.len()).sum::<usize>() >= LONG;
        let cache = self.shared_cache();
        let (_, hosts) = off_thread_if(is_long, rows, move |rows| {
            std::mem::take(rows).into_iter().map(|row| host_facts(&cache, row)).collect()
        })
        .await?;
        Ok(hosts)
    }

    /// A host as the domain sees it.
    pub(crate) async fn facts_of_host(&self, row: HostRow) -> Result<HostFacts, Error> {
        self.facts_of(vec![row]).await?.pop().ok_or_else(|| Error::internal("a host vanished"))
    }

    /// The hosts that a filter selects, as the domain sees them.
    pub(crate) async fn hosts(&self, filter: &HostFilter) -> Result<Vec<HostFacts>, Error> {
        debug_assert!(
            filter.deleted == Deleted::Hidden || filter.cluster_id.is_some() || filter.cluster_ids.is_some()
        );
        self.facts_of(self.reader().hosts(filter).await?).await
    }

    /// A cluster that is not deleted, from the cache if it is there.
    pub(crate) async fn cached_cluster(
        &self,
        id: ClusterId,
    ) -> Result<Option<Arc<Stored<ClusterRecord>>>, AttemptError> {
        match self.cache().clusters.get(&id) {
            Ok(known) => Ok(Some(known)),
            Err(epoch) => {
                let read = self.reader().cluster(id, Deleted::Hidden).await?.map(Arc::new);
                if let Some(read) = &read {
                    self.cache().clusters.put(id, epoch, Arc::clone(read));
                }
                Ok(read)
            }
        }
    }

    /// The same, but not older than a version that somebody has read: another replica may have committed it just now, and the
    /// news of it are still on their way.
    async fn cluster_at_least(
        &self,
        id: ClusterId,
        version: Option<Version>,
    ) -> Result<Option<Arc<Stored<ClusterRecord>>>, AttemptError> {
        let Some(version) = version else { return Ok(None) };
        let known = self.cached_cluster(id).await?;
        if known.as_ref().is_some_and(|known| known.version >= version) {
            return Ok(known);
        }
        self.cache().forget(Subject::Cluster(id));
        self.cached_cluster(id).await
    }

    /// An infra-env, from the cache if it is there.
    pub(crate) async fn known_infra_env(
        &self,
        id: InfraEnvId,
    ) -> Result<Option<Arc<Stored<InfraEnvRecord>>>, AttemptError> {
        match self.cache().infra_envs.get(&id) {
            Ok(known) => Ok(Some(known)),
            Err(epoch) => {
                let read = self.reader().infra_env(id).await?.map(Arc::new);
                if let Some(read) = &read {
                    self.cache().infra_envs.put(id, epoch, Arc::clone(read));
                }
                Ok(read)
            }
        }
    }
}

/// A host with the last sign of life that anybody heard.
fn host_facts(cache: &Cache, row: HostRow) -> HostFacts {
    let revision = revision(&row);
    let heard = cache.check_ins.at(row.key).max(row.checked_in_at);
    let mut record = row.record;
    let checked_in_at = heard.unwrap_or(record.host.registered_at.0);
    if let Some(ahead) = record.clock_ahead_seconds {
        record.host.timestamp = checked_in_at.as_second().saturating_add(ahead);
    }
    let mut host = HostFacts::new(record, checked_in_at);
    for (kind, report) in row.reports {
        cache.parsed.attach(&mut host, kind, report);
    }
    host.set_revision(revision);
    host
}

/// A number for the stored state of a host. Its reports are written without its version.
fn revision(row: &HostRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.version.hash(&mut hasher);
    row.reports.iter().for_each(|(kind, report)| (kind, &report.hash).hash(&mut hasher));
    hasher.finish()
}

fn by_id(stored: Stored<InfraEnvRecord>) -> (InfraEnvId, InfraEnvRecord) {
    (stored.record.infra_env.id, stored.record)
}
