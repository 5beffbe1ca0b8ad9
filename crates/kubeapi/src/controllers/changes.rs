//! What changes in the service marks the objects of the rows.

use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_service::Error;
use assisted_service::event::live::{Change, Watch};
use assisted_wire::host::{Host, HostKind};
use tokio::time::sleep;

use super::hub::Hub;
use super::queues::mark;

/// Between attempts to follow a service that can't be followed just now.
const PAUSE: Duration = Duration::from_secs(1);

/// Follows the service's changes for ever.
pub(super) async fn follow(hub: &Hub) {
    loop {
        if let Err(error) = follow_once(hub).await {
            tracing::warn!(error = %assisted_base::error::chain(&error), "changes of the service can't be followed");
        }
        sleep(PAUSE).await;
    }
}

async fn follow_once(hub: &Hub) -> Result<(), Error> {
    let watch = Watch { infra_envs: true, ..Watch::default() };
    let mut watcher = hub.service.events().watch(&hub.caller(), watch).await?;
    while let Some(message) = watcher.next().await {
        match message.change() {
            // The first message, and whenever some were missed.
            Change::Reset => everything(hub).await?,
            Change::Cluster(cluster) => {
                if let Some(key) = hub.service.clusters().object_of(cluster.id).await? {
                    mark(&hub.queues.clusters, key);
                }
            }
            Change::Host(host) => note_host(hub, host).await?,
            Change::InfraEnv(infra_env) => {
                if let Some(key) = hub.service.infra_envs().object_of(infra_env.id).await? {
                    mark(&hub.queues.infra_envs, key);
                }
            }
            // Its object hears of it from who deleted it.
            Change::InfraEnvDeleted(_) | Change::Event(_) => {}
        }
    }
    Ok(())
}

async fn note_host(hub: &Hub, host: &Host) -> Result<(), Error> {
    if let Some(infra_env_id) = host.infra_env_id {
        let key = HostKey { infra_env_id, host_id: host.id };
        if let Some(key) = hub.service.hosts().object_of(key).await? {
            mark(&hub.queues.agents, key);
        }
    }
    if let Some(id) = host.cluster_id
        && let Some(key) = hub.service.clusters().object_of(id).await?
    {
        if host.kind == HostKind::AddToExistingClusterHost {
            mark(&hub.queues.spokes, key.clone());
        }
        mark(&hub.queues.clusters, key);
    }
    Ok(())
}

/// Marks the objects of all rows.
async fn everything(hub: &Hub) -> Result<(), Error> {
    for key in hub.service.clusters().objects().await? {
        mark(&hub.queues.spokes, key.clone());
        mark(&hub.queues.clusters, key);
    }
    for (key, id) in hub.service.infra_envs().objects().await? {
        mark(&hub.queues.infra_envs, key);
        for host in hub.service.hosts().keys(id).await? {
            if let Some(key) = hub.service.hosts().object_of(host).await? {
                mark(&hub.queues.agents, key);
            }
        }
    }
    Ok(())
}
