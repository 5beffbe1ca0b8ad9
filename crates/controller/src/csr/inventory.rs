//! What requests are held against: hosts and cluster as the service knows them, and the nodes that are there.

use std::sync::Arc;

use assisted_base::error::chain;
use assisted_client::Error as ServiceError;
use assisted_wire::cluster::Cluster;
use assisted_wire::host::HostStatus;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::context::Context;
use crate::error::ReconcileError;
use crate::node::{self, Node};
use assisted_kube::host::KnownHost;

/// What a request is held against.
#[derive(Clone)]
pub(super) struct Inventory {
    pub(super) cluster: Arc<Cluster>,
    pub(super) hosts: Arc<[KnownHost]>,
    pub(super) nodes: Arc<[Node]>,
}

/// The last inventory, and when its reading began.
#[derive(Default)]
pub(super) struct Inventories(Mutex<Option<(Instant, Inventory)>>);

impl Inventories {
    /// The inventory as it was at a moment, or later. Requests that come together share one reading: whoever can make many doesn't
    /// make as many for the service. Hosts that were known count while the service is away: it may run on the very host that asks.
    pub(super) async fn read(&self, context: &Context, since: Instant) -> Result<Inventory, ReconcileError> {
        let mut last = self.0.lock().await;
        if let Some((at, inventory)) = &*last
            && *at >= since
        {
            return Ok(inventory.clone());
        }
        let began = Instant::now();
        let (cluster, hosts) = match &*last {
            None => of_service(context).await?,
            Some((_, known)) => {
                let away = match timeout(context.config.intervals.resync, of_service(context)).await {
                    Ok(Ok(found)) => Ok(found),
                    Ok(Err(error @ ServiceError::Unreachable { .. })) => Err(chain(&error)),
                    Ok(Err(error)) => return Err(error.into()),
                    Err(late) => Err(late.to_string()),
                };
                away.unwrap_or_else(|error| {
                    warn!(error, "requests for certificates are held against the inventory as it was");
                    (Arc::clone(&known.cluster), Arc::clone(&known.hosts))
                })
            }
        };
        let nodes = node::list(&context.kube).await?.into();
        let inventory = Inventory { cluster, hosts, nodes };
        *last = Some((began, inventory.clone()));
        Ok(inventory)
    }
}

async fn of_service(context: &Context) -> Result<(Arc<Cluster>, Arc<[KnownHost]>), ServiceError> {
    let cluster = context.service.cluster().await?;
    let hosts = context.service.hosts(&[HostStatus::Disabled]).await?;
    Ok((Arc::new(cluster), hosts.into()))
}
