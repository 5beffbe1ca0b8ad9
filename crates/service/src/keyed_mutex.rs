//! Requests about one cluster that take turns, where each looks at what is there before it writes.

use std::sync::Arc;
use std::time::Duration;

use assisted_wire::id::ClusterId;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

/// Clusters share a few locks, so that none has to be made or forgotten. Who waits longest is next. They hold within one
/// replica.
#[derive(Debug, Default)]
pub(crate) struct KeyedMutex([Arc<Mutex<()>>; LOCKS]);

const LOCKS: usize = 32;

/// So long an agent's report waits for those of other hosts of its cluster, and a change for others.
const SOON: Duration = Duration::from_secs(2);

impl KeyedMutex {
    pub(crate) async fn lock(&self, id: ClusterId) -> OwnedMutexGuard<()> {
        let [.., last] = id.0.into_bytes();
        Arc::clone(&self.0[usize::from(last) % LOCKS]).lock_owned().await
    }

    /// A turn, unless it does not come soon. Each report has the whole cluster judged: when a very large cluster reports at once,
    /// the last ones are written alone, and the scheduler judges once for all of them. A change goes on without its turn, and is decided
    /// anew where another was written first.
    /// There is none where there is no cluster.
    pub(crate) async fn lock_soon(&self, id: Option<ClusterId>) -> Option<OwnedMutexGuard<()>> {
        timeout(SOON, self.lock(id?)).await.ok()
    }
}
