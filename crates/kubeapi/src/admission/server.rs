//! The webhooks of the hub's kinds, as API servers ask them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use bytes::Bytes;
use hyper::StatusCode;
use kube::{Api, Client};
use rustls::ServerConfig;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::table::{Entry, WEBHOOKS};
use super::verdict::Verdict;
use super::{GROUP, VERSION, discovery, review};
use crate::webhook_server::listener::{self, Endpoint, Refused, WebhookHandler};

/// How long the API is asked about a cluster.
const LOOKUP: Duration = Duration::from_secs(5);

/// Knows which clusters are there.
pub trait Clusters: Send + Sync + 'static {
    /// Whether the ClusterDeployment says that its cluster is installed.
    fn is_installed(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<bool, kube::Error>> + Send;
}

impl Clusters for Client {
    async fn is_installed(&self, namespace: &str, name: &str) -> Result<bool, kube::Error> {
        let found: ClusterDeployment = Api::namespaced(self.clone(), namespace).get(name).await?;
        Ok(found.spec.installed == Some(true))
    }
}

/// Answers on a listener until `stop`; requests under way are finished.
///
/// # Errors
/// Connections can't be accepted any more.
pub async fn serve<C: Clusters>(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    clusters: Arc<C>,
    stop: CancellationToken,
) -> io::Result<()> {
    // What is spoken stays as it is.
    let (_, tls) = watch::channel(tls);
    listener::serve(listener, tls, Arc::new(AdmissionWebhooks(clusters)), stop).await
}

/// All admission webhooks, with the clusters that some of them look up.
struct AdmissionWebhooks<C>(Arc<C>);

/// The webhook of a path, or none of that name; the path is of no webhook at all.
fn entry(path: &str) -> Option<Option<&'static Entry>> {
    let name = path.strip_prefix(&format!("/apis/{GROUP}/{VERSION}/"))?;
    Some(WEBHOOKS.iter().find(|entry| entry.name == name))
}

impl<C: Clusters> WebhookHandler for AdmissionWebhooks<C> {
    /// Two objects as large as an API server stores them, with what is said beside them.
    const MOST_BYTES: usize = 8 * 1024 * 1024;

    const MOST_AT_A_TIME: usize = 16;

    fn endpoint(&self, path: &str) -> Endpoint {
        match (entry(path), discovery::answer(path)) {
            (Some(Some(_)), _) => Endpoint::Webhook,
            (Some(None), _) => Endpoint::Nothing("there is no such webhook"),
            (None, Some(document)) => Endpoint::Document(document),
            (None, None) => Endpoint::Nothing("there is nothing here"),
        }
    }

    async fn answer(&self, path: &str, body: Bytes) -> Result<Value, Refused> {
        let Some(Some(entry)) = entry(path) else {
            return Err(Refused::new(StatusCode::NOT_FOUND, "there is no such webhook"));
        };
        // Not among those that serve connections: a large object takes a while.
        let reviewed = tokio::task::spawn_blocking(move || {
            let request = review::read(&body).map_err(|error| error.to_string())?;
            let verdict = entry.review(&request);
            Ok::<_, String>((request.uid.clone(), format!("{}/{}", request.namespace, request.name), verdict))
        });
        let (uid, object, verdict) = match reviewed.await {
            Ok(Ok(reviewed)) => reviewed,
            Ok(Err(error)) => return Err(Refused::new(StatusCode::BAD_REQUEST, error)),
            Err(error) => {
                tracing::error!(%error, webhook = entry.name, "a review can't be answered");
                return Err(Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "the review can't be answered"));
            }
        };
        let verdict = resolve(verdict, &*self.0).await;
        match &verdict {
            Verdict::Denied(denial) => {
                tracing::info!(webhook = entry.name, object, reason = denial.message, "denied");
            }
            _ => tracing::debug!(webhook = entry.name, object, "allowed"),
        }
        Ok(review::answer(&uid, &verdict))
    }
}

/// Looks up the cluster that a verdict depends on. What can't be found out counts as not installed.
async fn resolve<C: Clusters>(verdict: Verdict, clusters: &C) -> Verdict {
    let Verdict::DeniedUnlessInstalled { cluster, denial } = verdict else { return verdict };
    match timeout(LOOKUP, clusters.is_installed(&cluster.namespace, &cluster.name)).await {
        Ok(Ok(true)) => Verdict::Allowed,
        Ok(Ok(false)) => Verdict::Denied(denial),
        Ok(Err(error)) => {
            tracing::warn!(%error, cluster = cluster.name, "the cluster can't be looked up");
            Verdict::Denied(denial)
        }
        Err(_) => {
            tracing::warn!(cluster = cluster.name, "looking up the cluster took too long");
            Verdict::Denied(denial)
        }
    }
}
