//! The bootstrap provider from its start to its end, on the replica that leads.

use std::sync::Arc;

use assisted_kube::lease::Settings;
use assisted_reconcile::objects::{queue, work};
use kube::Client;
use kube::runtime::reflector::store::Writer;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::config::ConfigReconciler;
use super::marks;
use super::provider::{Cache, Provider};
use crate::installer::Installer;
use crate::run::{LISTING, RunError, lead, unlisted_kind, watch};

/// Name of the lease by which one replica leads.
const LEASE: &str = "08dff33b.cluster.x-k8s.io";

/// Runs the provider as soon as this replica leads, until stopped.
///
/// # Errors
/// The lease is lost, or objects can't be listed: the process must end, for nobody may go on with what it knows.
pub async fn run<I: Installer>(
    client: Client,
    installer: I,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let work = || Box::pin(provide(client.clone(), installer, &stop));
    lead(client.clone(), LEASE, settings, &stop, work).await
}

async fn provide<I: Installer>(
    client: Client,
    installer: I,
    stop: &CancellationToken,
) -> Result<(), RunError> {
    let writers = (Writer::new(()), Writer::new(()), Writer::new(()));
    let cache = Cache {
        configs: writers.0.as_reader(),
        machines: writers.1.as_reader(),
        clusters: writers.2.as_reader(),
    };
    let provider = Arc::new(Provider { client, installer, cache, queue: queue() });
    // Ends with this future.
    let mut tasks = JoinSet::new();
    watch(&mut tasks, &provider.client, writers.0, &provider, marks::config);
    watch(&mut tasks, &provider.client, writers.1, &provider, marks::machine);
    watch(&mut tasks, &provider.client, writers.2, &provider, marks::cluster);
    let (changing, stopped) = (Arc::clone(&provider), stop.clone());
    let following = Arc::clone(&provider);
    tasks.spawn(async move {
        let changed = move |change| marks::installer(&changing, &change);
        following.installer.follow(changed, stopped).await;
    });
    tokio::select! {
        unlisted = unlisted(&provider) => if !unlisted.is_empty() {
            return Err(RunError::NotListed(unlisted));
        },
        () = stop.cancelled() => return Ok(()),
    }
    let reconciler = ConfigReconciler::new(&provider);
    tokio::select! {
        () = work("openshift-assisted-configs", &provider.queue, reconciler, stop) => Ok(()),
        _ = tasks.join_next() => if stop.is_cancelled() { Ok(()) } else { Err(RunError::Ended) },
    }
}

/// The kinds that are not listed in time.
async fn unlisted<I: Installer>(provider: &Provider<I>) -> String {
    let cache = &provider.cache;
    let deadline = Instant::now() + LISTING;
    let mut kinds = Vec::new();
    kinds.extend(unlisted_kind(&cache.configs, deadline).await);
    kinds.extend(unlisted_kind(&cache.machines, deadline).await);
    kinds.extend(unlisted_kind(&cache.clusters, deadline).await);
    kinds.extend(provider.installer.ready().await.err());
    kinds.join(", ")
}
