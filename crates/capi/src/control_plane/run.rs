//! The control-plane provider from its start to its end, on the replica that leads.

use std::sync::Arc;

use assisted_kube::lease::Settings;
use assisted_reconcile::objects::{queue, work};
use kube::Client;
use kube::runtime::reflector::store::Writer;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::installer::Installer;
use super::management_cluster::{Cache, ManagementCluster};
use super::marks;
use super::provider::Provider;
use super::reconcile::ControlPlaneReconciler;
use super::release::Releases;
use super::workload::Workloads;
use crate::run::{LISTING, RunError, lead, unlisted_kind, watch};

/// Name of the lease by which one replica leads.
const LEASE: &str = "09dff44b.cluster.x-k8s.io";

/// Runs the provider as soon as this replica leads, until stopped.
///
/// # Errors
/// The lease is lost, or objects can't be listed: the process must end, for nobody may go on with what it knows.
pub async fn run(
    client: Client,
    installer: Installer,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let work = || Box::pin(provide(client.clone(), installer, &stop));
    lead(client.clone(), LEASE, settings, &stop, work).await
}

async fn provide(client: Client, installer: Installer, stop: &CancellationToken) -> Result<(), RunError> {
    let writers = (Writer::new(()), Writer::new(()), Writer::new(()), Writer::new(()), Writer::new(()));
    let cache = Cache {
        planes: writers.0.as_reader(),
        clusters: writers.1.as_reader(),
        machines: writers.2.as_reader(),
        configs: writers.3.as_reader(),
        deployments: writers.4.as_reader(),
    };
    let (releases, workloads) = (Releases::default(), Workloads::default());
    let management = Arc::new(ManagementCluster { client, cache, queue: queue() });
    let provider = Arc::new(Provider { management: Arc::clone(&management), installer, releases, workloads });
    // Ends with this future.
    let mut tasks = JoinSet::new();
    watch(&mut tasks, &management.client, writers.0, &management, marks::plane);
    watch(&mut tasks, &management.client, writers.1, &management, marks::cluster);
    watch(&mut tasks, &management.client, writers.2, &management, marks::machine);
    watch(&mut tasks, &management.client, writers.3, &management, marks::config);
    watch(&mut tasks, &management.client, writers.4, &management, marks::deployment);
    provider.installer.follow(&management, &mut tasks, stop);
    tokio::select! {
        unlisted = unlisted(&provider) => if !unlisted.is_empty() {
            return Err(RunError::NotListed(unlisted));
        },
        () = stop.cancelled() => return Ok(()),
    }
    let reconciler = ControlPlaneReconciler::new(&provider);
    tokio::select! {
        () = work("openshift-assisted-control-planes", &management.queue, reconciler, stop) => Ok(()),
        _ = tasks.join_next() => if stop.is_cancelled() { Ok(()) } else { Err(RunError::Ended) },
    }
}

/// The kinds that are not listed in time.
async fn unlisted(provider: &Provider) -> String {
    let cache = &provider.management.cache;
    let deadline = Instant::now() + LISTING;
    let kinds = [
        unlisted_kind(&cache.planes, deadline).await,
        unlisted_kind(&cache.clusters, deadline).await,
        unlisted_kind(&cache.machines, deadline).await,
        unlisted_kind(&cache.configs, deadline).await,
        unlisted_kind(&cache.deployments, deadline).await,
        provider.installer.missing(deadline).await,
    ];
    kinds.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
