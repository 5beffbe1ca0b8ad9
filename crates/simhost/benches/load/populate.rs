//! Clusters of three hosts each, made over several connections side by side.

use std::net::SocketAddr;
use std::ops::Range;

use anyhow::{Context, Result, ensure};
use assisted_simhost::connection::Connection;
use assisted_simhost::host::SimHost;
use assisted_simhost::plan::PULL_SECRET;
use assisted_wire::id::InfraEnvId;
use bytes::Bytes;
use futures::future::BoxFuture;
use hyper::Method;
use serde_json::json;

/// Connections of the load generator.
pub const CONNECTIONS: usize = 32;
/// Connections of hosts that are switched on together: each has its own.
pub const RUSH: usize = 256;
/// Hosts of each cluster.
pub const HOSTS_PER_CLUSTER: u32 = 3;

/// Creates clusters and their infra-envs; gives the hosts that are to come.
pub async fn clusters(address: SocketAddr, version: &str, numbers: Range<u32>) -> Result<Vec<SimHost>> {
    let version = version.to_owned();
    let infra_envs = each(address, CONNECTIONS, numbers.clone(), move |connection, number| {
        let version = version.clone();
        Box::pin(async move {
            let cluster = json!({"name": format!("c{number}"), "openshift_version": version, "pull_secret": PULL_SECRET, "base_dns_domain": "example.com"});
            let cluster =
                connection.json(Method::POST, "/api/assisted-install/v2/clusters", &cluster).await?;
            let infra_env = json!({"name": format!("e{number}"), "cluster_id": cluster["id"], "pull_secret": PULL_SECRET, "openshift_version": version});
            let infra_env =
                connection.json(Method::POST, "/api/assisted-install/v2/infra-envs", &infra_env).await?;
            let id: InfraEnvId = infra_env["id"].as_str().context("an infra-env without id")?.parse()?;
            Ok(id)
        })
    });
    let numbered = numbers.zip(infra_envs.await?);
    let hosts = numbered.flat_map(|(number, id)| {
        (0..HOSTS_PER_CLUSTER).map(move |place| SimHost::new(id, number * HOSTS_PER_CLUSTER + place))
    });
    Ok(hosts.collect())
}

/// Hosts that are about to register, with what they will send.
pub struct Arrivals(Vec<[(String, Bytes); 2]>);

impl Arrivals {
    /// Makes their requests beforehand, so that it costs nothing while the service is measured.
    pub fn new(hosts: &[SimHost]) -> Result<Self> {
        let requests = hosts.iter().map(|host| {
            let registration = serde_json::to_vec(&host.registration())?.into();
            Ok([(host.hosts_path(), registration), (host.instructions_path(), inventory(host, 1)?)])
        });
        requests.collect::<Result<_>>().map(Self)
    }

    /// Registers each host and sends its first inventory, over so many connections.
    pub async fn register(self, address: SocketAddr, connections: usize) -> Result<()> {
        each(address, connections, self.0, |connection, requests| {
            Box::pin(async move {
                for (path, body) in requests {
                    let status = connection.send(Method::POST, &path, body).await?;
                    ensure!(status.is_success(), "{path}: {status}");
                }
                Ok(())
            })
        })
        .await?;
        Ok(())
    }
}

/// The body of a host's reply with its inventory.
pub fn inventory(host: &SimHost, revision: u32) -> Result<Bytes> {
    Ok(Bytes::from(serde_json::to_vec(&host.inventory_reply(revision)?)?))
}

/// Does something for each item, over so many connections; gives what came of it, in the items' order.
pub async fn each<T, R, F>(
    address: SocketAddr,
    connections: usize,
    items: impl IntoIterator<Item = T>,
    act: F,
) -> Result<Vec<R>>
where
    T: Send + 'static,
    R: Send + 'static,
    F: for<'a> Fn(&'a mut Connection, T) -> BoxFuture<'a, Result<R>> + Clone + Send + 'static,
{
    let mut queues: Vec<Vec<(usize, T)>> = (0..connections).map(|_| Vec::new()).collect();
    for (number, item) in items.into_iter().enumerate() {
        queues[number % connections].push((number, item));
    }
    let workers: Vec<_> = queues
        .into_iter()
        .map(|queue| {
            let act = act.clone();
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await?;
                let mut done = Vec::with_capacity(queue.len());
                for (number, item) in queue {
                    done.push((number, act(&mut connection, item).await?));
                }
                anyhow::Ok(done)
            })
        })
        .collect();
    let mut all = Vec::new();
    for worker in workers {
        all.extend(worker.await??);
    }
    all.sort_unstable_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}
