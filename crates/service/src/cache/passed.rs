//! Hosts whose validations need not run again at each look at their cluster.

use std::sync::Arc;

use assisted_core::validation::PassedHosts;
use assisted_store::RecentCache;
use assisted_wire::id::ClusterId;

/// Bytes that a generation holds: tens of thousands of hosts. There are two.
const LIMIT: usize = 4 << 20;
/// What a host takes, about, and what a cluster does besides.
const HOST: usize = 128;
const CLUSTER: usize = 256;

/// What the last looks at large clusters have found of their hosts.
#[derive(Debug)]
pub(crate) struct PassedHostsOfClusters(RecentCache<ClusterId, Arc<PassedHosts>>);

impl Default for PassedHostsOfClusters {
    fn default() -> Self {
        Self(RecentCache::new(LIMIT))
    }
}

impl PassedHostsOfClusters {
    /// What the last look at a cluster has found.
    pub(crate) fn get(&self, id: ClusterId) -> Arc<PassedHosts> {
        self.0.get(&id).unwrap_or_default()
    }

    /// Keeps what a look has found for the next one.
    pub(crate) fn put(&self, id: ClusterId, passed: Arc<PassedHosts>) {
        let weight = CLUSTER + HOST * passed.len();
        self.0.put(id, passed, weight);
    }

    /// Drops what nobody wanted since the last call but one.
    pub(crate) fn age(&self) {
        self.0.age();
    }

    /// What it takes of memory, about, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.0.weight()
    }
}
