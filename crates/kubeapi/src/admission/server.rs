//! The listener that API servers call.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use kube::{Api, Client};
use rustls::ServerConfig;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::verdict::Verdict;
use super::webhook::WEBHOOKS;
use super::{GROUP, VERSION, discovery, review};

/// The most bytes of a review: two objects as large as an API server stores them, with what is said beside them.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// Reviews that are read and judged at a time; further ones wait.
const MOST_REVIEWS: usize = 16;

const MOST_CONNECTIONS: usize = 256;

/// How long a request may take from its head to the answer.
const REQUEST: Duration = Duration::from_secs(10);

/// How long one may take to say who it is, or what it wants.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long the API is asked about a cluster.
const LOOKUP: Duration = Duration::from_secs(5);

/// How long requests that are under way may take when the process stops.
const DRAIN: Duration = Duration::from_secs(15);

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
    let acceptor = TlsAcceptor::from(tls);
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let reviews = Arc::new(Semaphore::new(MOST_REVIEWS));
    let graceful = GracefulShutdown::new();
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(64).keep_alive_interval(Some(HANDSHAKE));
    let builder = Arc::new(builder);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = async {
                let slot = Arc::clone(&slots).acquire_owned().await;
                (slot, listener.accept().await)
            } => accepted,
        };
        let (slot, stream) = match accepted {
            (Ok(slot), Ok((stream, _))) => (slot, stream),
            (_, Err(error)) => {
                tracing::warn!(%error, "a connection is not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            (Err(error), _) => return Err(io::Error::other(error)),
        };
        let (acceptor, builder, watcher) = (acceptor.clone(), Arc::clone(&builder), graceful.watcher());
        let (clusters, reviews) = (Arc::clone(&clusters), Arc::clone(&reviews));
        tokio::spawn(async move {
            let _slot = slot;
            let Some(stream) = handshake(stream, &acceptor).await else { return };
            let service = service_fn(move |request| {
                let (clusters, reviews) = (Arc::clone(&clusters), Arc::clone(&reviews));
                async move { Ok::<_, Infallible>(respond(request, &*clusters, &reviews).await) }
            });
            let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(error, "a connection ended before its time");
            }
        });
    }
    drop(listener);
    if timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections are cut: their requests took too long");
    }
    Ok(())
}

async fn handshake(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a handshake failed");
            None
        }
        Err(_) => None,
    }
}

type Answer = Response<Full<Bytes>>;

async fn respond<C: Clusters>(request: Request<Incoming>, clusters: &C, reviews: &Semaphore) -> Answer {
    let path = request.uri().path().to_owned();
    let prefix = format!("/apis/{GROUP}/{VERSION}/");
    if let Some(name) = path.strip_prefix(&prefix) {
        if !WEBHOOKS.iter().any(|entry| entry.name == name) {
            return text(StatusCode::NOT_FOUND, "there is no such webhook");
        }
        if request.method() != Method::POST {
            return text(StatusCode::METHOD_NOT_ALLOWED, "a webhook is asked by POST");
        }
        let answered = timeout(REQUEST, judged(name, request, clusters, reviews)).await;
        return answered.unwrap_or_else(|_| text(StatusCode::GATEWAY_TIMEOUT, "the review took too long"));
    }
    match (path.as_str(), discovery::answer(&path)) {
        ("/healthz" | "/livez" | "/readyz", _) => text(StatusCode::OK, "ok"),
        (_, Some(answer)) => json(&answer),
        (_, None) => text(StatusCode::NOT_FOUND, "there is nothing here"),
    }
}

async fn judged<C: Clusters>(
    name: &str,
    request: Request<Incoming>,
    clusters: &C,
    reviews: &Semaphore,
) -> Answer {
    let Ok(_slot) = reviews.acquire().await else {
        return text(StatusCode::SERVICE_UNAVAILABLE, "the webhooks stop");
    };
    let body = match Limited::new(request.into_body(), MOST_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "the review is too large");
        }
        Err(_) => return text(StatusCode::BAD_REQUEST, "the body broke off"),
    };
    let Some(entry) = WEBHOOKS.iter().find(|entry| entry.name == name) else {
        return text(StatusCode::NOT_FOUND, "there is no such webhook");
    };
    // Not among those that serve connections: a large object takes a while.
    let judged = tokio::task::spawn_blocking(move || {
        let request = review::read(&body).map_err(|error| error.to_string())?;
        let verdict = entry.judge(&request);
        Ok::<_, String>((request.uid.clone(), format!("{}/{}", request.namespace, request.name), verdict))
    });
    let (uid, object, verdict) = match judged.await {
        Ok(Ok(judged)) => judged,
        Ok(Err(error)) => return text(StatusCode::BAD_REQUEST, &error),
        Err(error) => {
            tracing::error!(%error, webhook = name, "a review can't be judged");
            return text(StatusCode::INTERNAL_SERVER_ERROR, "the review can't be judged");
        }
    };
    let verdict = settle(verdict, clusters).await;
    match &verdict {
        Verdict::Denied(denial) => {
            tracing::info!(webhook = name, object, reason = denial.message, "denied");
        }
        _ => tracing::debug!(webhook = name, object, "allowed"),
    }
    json(&review::answer(&uid, &verdict))
}

/// Asks about the cluster that a verdict depends on. What can't be found out counts as not installed.
async fn settle<C: Clusters>(verdict: Verdict, clusters: &C) -> Verdict {
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

fn json(value: &Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(value.to_string())));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text.to_owned())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
