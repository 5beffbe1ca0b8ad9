//! A cache of rows of the database: each is loaded when it is first asked for, and dropped when anything changes it. Where the cache is
//! aged, what nobody has asked for is dropped, too.
//!
//! A view that was read from the database before a change must not be kept after it. So each shard counts the
//! changes, and a view is only kept when the count is what it was before the read.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assisted_core::model::host::HostKey;
use parking_lot::{Mutex, RwLock};

/// More shards than threads, so that they seldom meet; each change outdates only the reads of its own shard.
const SHARDS: usize = 256;

/// Views of rows, by key.
#[derive(Debug)]
pub(crate) struct ReadThroughCache<K, V> {
    shards: Box<[RwLock<Shard<K, V>>]>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Shard<K, V> {
    changes: u64,
    views: HashMap<K, CachedView<V>>,
}

#[derive(Debug)]
struct CachedView<V> {
    view: Arc<V>,
    /// Whether anybody has asked for it since the cache last aged.
    is_wanted: AtomicBool,
}

/// The state of a shard before a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl<K, V> Default for ReadThroughCache<K, V> {
    fn default() -> Self {
        let shard = || RwLock::new(Shard { changes: 0, views: HashMap::new() });
        Self { shards: (0..SHARDS).map(|_| shard()).collect(), hasher: RandomState::new() }
    }
}

impl<K: Copy + Eq + Hash, V> ReadThroughCache<K, V> {
    fn shard(&self, key: &K) -> &RwLock<Shard<K, V>> {
        let hash = self.hasher.hash_one(key);
        &self.shards[(hash % SHARDS as u64) as usize]
    }

    /// The view, if it is cached; else the epoch in which one that is read now may be cached.
    pub(crate) fn get(&self, key: &K) -> Result<Arc<V>, Epoch> {
        let shard = self.shard(key).read();
        let cached = shard.views.get(key).ok_or(Epoch(shard.changes))?;
        // Mostly it is known already, and nothing is written that other processors have to hear of.
        if !cached.is_wanted.load(Ordering::Relaxed) {
            cached.is_wanted.store(true, Ordering::Relaxed);
        }
        Ok(Arc::clone(&cached.view))
    }

    /// Remembers a view, unless something changed since the ticket was given.
    pub(crate) fn put(&self, key: K, epoch: Epoch, view: Arc<V>) {
        let mut shard = self.shard(&key).write();
        if shard.changes == epoch.0 {
            shard.views.insert(key, CachedView { view, is_wanted: AtomicBool::new(true) });
        }
    }

    /// Drops the views that nobody has asked for since the last call.
    pub(crate) fn age(&self) {
        for shard in &self.shards {
            shard.write().views.retain(|_, cached| std::mem::take(cached.is_wanted.get_mut()));
        }
    }

    /// Drops a view.
    pub(crate) fn remove(&self, key: &K) {
        let mut shard = self.shard(key).write();
        shard.changes += 1;
        shard.views.remove(key);
    }

    /// How many views there are.
    pub(crate) fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().views.len()).sum()
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.write();
            shard.changes += 1;
            shard.views.clear();
        }
    }
}

/// Which hosts' views depend on a group, so that a change of the group drops them all.
#[derive(Debug)]
pub(crate) struct Groups<G>(Mutex<HashMap<G, HashSet<HostKey>>>);

impl<G> Default for Groups<G> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<G: Eq + Hash> Groups<G> {
    /// Notes that a host's view depends on a group.
    pub(crate) fn join(&self, group: G, key: HostKey) {
        self.0.lock().entry(group).or_default().insert(key);
    }

    /// Notes that a host's view depends on a group no more.
    pub(crate) fn leave(&self, group: &G, key: HostKey) {
        let mut groups = self.0.lock();
        if let Some(members) = groups.get_mut(group) {
            members.remove(&key);
            if members.is_empty() {
                groups.remove(group);
            }
        }
    }

    /// Forgets all groups: hosts join them anew when they are read.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// How many members all groups have.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().values().map(HashSet::len).sum()
    }

    /// The members of a group.
    pub(crate) fn members(&self, group: &G) -> Vec<HostKey> {
        self.0.lock().get(group).map(|members| members.iter().copied().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::{HostId, InfraEnvId};

    use super::*;

    #[test]
    fn what_was_read_before_a_change_is_not_remembered_after_it() {
        let views = ReadThroughCache::default();
        let key = HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() };
        let epoch = views.get(&key).unwrap_err();
        views.remove(&key);
        views.put(key, epoch, Arc::new("old"));
        let epoch = views.get(&key).unwrap_err();
        views.put(key, epoch, Arc::new("new"));
        assert_eq!(*views.get(&key).unwrap(), "new");
        views.clear();
        assert!(views.get(&key).is_err());
    }

    #[test]
    fn what_nobody_asks_for_is_dropped() {
        let views = ReadThroughCache::default();
        let epoch = views.get(&1).unwrap_err();
        views.put(1, epoch, Arc::new("one"));
        views.age();
        assert!(views.get(&1).is_ok(), "it was read a moment ago");
        views.age();
        assert_eq!(views.count(), 1);
        views.age();
        assert_eq!(views.count(), 0);
        assert_eq!(views.get(&1).unwrap_err(), epoch, "nothing has changed");
    }
}
