//! Reads the memos of hosts through the cache.

use std::collections::HashMap;
use std::sync::Arc;

use assisted_core::decide::host::steps::{view, views};
use assisted_core::model::host::HostKey;
use assisted_store::Deleted;
use assisted_wire::id::ClusterId;

use super::Hosts;
use crate::attempt::AttemptError;
use crate::cache::Group;
use crate::cache::memo::HostPollCache;
use crate::cache::read_through::Epoch;

impl Hosts {
    /// A host, from the cache if it is there; `None` when there is none.
    pub(crate) async fn memo(&self, key: HostKey) -> Result<Option<Arc<HostPollCache>>, AttemptError> {
        match self.database.cache().hosts.get(&key) {
            Ok(memo) => Ok(Some(memo)),
            // On the heap: nearly all are cached, and the room for the rest would be moved with each poll.
            Err(epoch) => Box::pin(self.load_memo(key, epoch)).await,
        }
    }

    async fn load_memo(
        &self,
        key: HostKey,
        epoch: Epoch,
    ) -> Result<Option<Arc<HostPollCache>>, AttemptError> {
        self.database.cache().groups.join(Group::InfraEnv(key.infra_env_id), key);
        let Some(work) = self.database.load_host_alone(key).await? else {
            // Nothing is to be kept of hosts that nobody knows.
            self.database.cache().groups.leave(&Group::InfraEnv(key.infra_env_id), key);
            return Ok(None);
        };
        let Some(host) = work.host(key) else { return Ok(None) };
        // What a host of a cluster is told depends on the others, so all are made at once.
        if let Some(id) = host.record.host.cluster_id
            && let Some(memo) = self.memos_of(id, key).await?
        {
            return Ok(Some(memo));
        }
        let Some(view) = view(&work.facts, key) else { return Ok(None) };
        let memo = Arc::new(HostPollCache::new(self.database.cache(), host, view));
        self.database.cache().hosts.put(key, epoch, Arc::clone(&memo));
        Ok(Some(memo))
    }

    /// Makes and caches the memos of all hosts of a cluster; returns that of one.
    async fn memos_of(
        &self,
        id: ClusterId,
        wanted: HostKey,
    ) -> Result<Option<Arc<HostPollCache>>, AttemptError> {
        let cache = self.database.cache();
        let epoch = match cache.hosts.get(&wanted) {
            // Another poll of the cluster has made it meanwhile.
            Ok(memo) => return Ok(Some(memo)),
            Err(epoch) => epoch,
        };
        let others = cache.groups.members(&Group::Cluster(id)).into_iter();
        let others = others.filter_map(|key| Some((key, cache.hosts.get(&key).err()?)));
        let epochs: HashMap<_, _> = others.chain([(wanted, epoch)]).collect();
        // Joined before the reading: a change in between drops the tickets. Those are new, and the groups of infra-envs may have been
        // forgotten since they were joined.
        for key in epochs.keys() {
            cache.groups.join(Group::Cluster(id), *key);
            cache.groups.join(Group::InfraEnv(key.infra_env_id), *key);
        }
        let Some(work) = self.database.load_cluster(id, Deleted::Hidden).await? else {
            // It is gone, and nothing would take its hosts out of its group any more.
            for key in epochs.keys() {
                cache.groups.leave(&Group::Cluster(id), *key);
            }
            return Ok(None);
        };
        let mut found = None;
        for (host, view) in work.facts.hosts.iter().zip(views(&work.facts)) {
            let key = view.key;
            let Some(epoch) = epochs.get(&key) else { continue };
            let memo = Arc::new(HostPollCache::new(self.database.cache(), host, view));
            cache.hosts.put(key, *epoch, Arc::clone(&memo));
            if key == wanted {
                found = Some(memo);
            }
        }
        Ok(found)
    }
}
