//! Hosts whose validations need not run again at each look at their cluster.

use std::sync::Arc;

use assisted_core::validation::PassedHosts;
use assisted_store::RecentCache;
use assisted_wire::id::ClusterId;

/// Hosts that a generation holds; there are two.
const HOSTS: usize = 20_000;

/// What the last looks at large clusters have found of their hosts.
#[derive(Debug)]
pub(crate) struct PassedHostsOfClusters(RecentCache<ClusterId, Arc<PassedHosts>>);

impl Default for PassedHostsOfClusters {
    fn default() -> Self {
        Self(RecentCache::new(HOSTS))
    }
}

impl PassedHostsOfClusters {
    /// What the last look at a cluster has found.
    pub(crate) fn get(&self, id: ClusterId) -> PassedHosts {
        self.0.get(&id).map(Arc::unwrap_or_clone).unwrap_or_default()
    }

    /// Keeps what a look has found for the next one.
    pub(crate) fn put(&self, id: ClusterId, passed: PassedHosts) {
        let weight = passed.len().max(1);
        self.0.put(id, Arc::new(passed), weight);
    }

    /// Drops what nobody wanted since the last call but one.
    pub(crate) fn age(&self) {
        self.0.age();
    }

    /// How many hosts there are in it.
    pub(crate) fn count(&self) -> usize {
        self.0.weight()
    }
}
