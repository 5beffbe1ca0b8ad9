//! Connections: accepted within a bound, timed, and ended gracefully.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::idle::{IdleTimeouts, Requests};
use assisted_base::pem::{self, PemError};
use assisted_base::stall::Stall;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::http::response::holding;
use crate::operation::{Api, Peer};

/// Between two questions of an HTTP/2 connection whether the client is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Bytes that the head of a request may take.
const HEADER_BYTES: usize = 64 * 1024;

/// Why there is no TLS listener.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificate file {path} can't be read; set HTTPS_CERT_FILE to a chain in PEM form")]
    Certificate {
        path: String,
        #[source]
        source: FileError,
    },
    #[error("the key file {path} can't be read; set HTTPS_KEY_FILE to a private key in PEM form")]
    Key {
        path: String,
        #[source]
        source: FileError,
    },
    #[error("TLS_MIN_VERSION {0:?} is not VersionTLS12 or VersionTLS13")]
    Version(String),
    #[error("certificate and key can't be used")]
    Pair(#[from] rustls::Error),
}

/// Why a file of the listener can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error(transparent)]
    Pem(#[from] PemError),
}

/// Reads certificate and key of a TLS listener; `min_version` empty: TLS 1.2.
///
/// # Errors
///
/// When a file can't be read, or key and certificate do not fit; a key never shows in the error.
pub fn tls(certificate: &Path, key: &Path, min_version: &str) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = read(certificate, pem::certificates)
        .map_err(|source| TlsError::Certificate { path: certificate.display().to_string(), source })?;
    let key = read(key, pem::private_key)
        .map_err(|source| TlsError::Key { path: key.display().to_string(), source })?;
    let versions = match min_version {
        "" | "VersionTLS12" => rustls::DEFAULT_VERSIONS,
        "VersionTLS13" => &[&rustls::version::TLS13],
        other => return Err(TlsError::Version(other.to_owned())),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read<T>(path: &Path, reader: impl Fn(&[u8]) -> Result<T, PemError>) -> Result<T, FileError> {
    Ok(reader(&std::fs::read(path)?)?)
}

/// Serves the API on a listener until `stop` ends; requests under way are finished.
///
/// # Errors
///
/// When the listener breaks.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    api: Api,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_at_most(api.budget().connections(), listener, tls, api, stop).await
}

/// The same with another bound on the connections at a time.
///
/// # Errors
///
/// When the listener breaks.
pub async fn serve_at_most(
    most: usize,
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    api: Api,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let timeouts = *api.timeouts();
    let slots = Arc::new(Semaphore::new(most));
    let graceful = GracefulShutdown::new();
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        .max_buf_size(HEADER_BYTES)
        .pipeline_flush(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HEADER_BYTES).unwrap_or(u32::MAX))
        .max_concurrent_streams(64)
        .keep_alive_interval(Some(KEEP_ALIVE));
    let limit = ConnectionLimit { slots: Arc::clone(&slots), most };
    let common = Common { api, acceptor: tls.map(TlsAcceptor::from), builder: Arc::new(builder), limit };

    let mut stop = std::pin::pin!(stop);
    loop {
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot.map_err(io::Error::other)?,
            () = &mut stop => break,
        };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_of_one_connection(&error) => continue,
                Err(error) => {
                    // Out of files or memory: give the connections that there are a chance to end.
                    tracing::warn!(%error, "a connection is not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        common.answer(stream, Peer(peer.ip().to_canonical()), slot, graceful.watcher());
    }
    drop(listener);
    common.api.stop();
    if timeout(timeouts.stop, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections are cut: their requests took too long");
    }
    Ok(())
}

/// What all connections of a listener have in common.
#[derive(Clone)]
struct Common {
    api: Api,
    acceptor: Option<TlsAcceptor>,
    builder: Arc<Builder<TokioExecutor>>,
    limit: ConnectionLimit,
}

impl Common {
    /// Has a task answer on a connection, unless its peer has too many. This is neither async nor generic: therefore all that answers requests
    /// is compiled with this crate, once, and not again with each program and each test that serves.
    #[inline(never)]
    fn answer(&self, stream: TcpStream, peer: Peer, slot: OwnedSemaphorePermit, watcher: Watcher) {
        // Dropped, it is closed.
        let Some(share) = self.api.budget().connection(peer.0) else {
            tracing::debug!(peer = %peer.0, "a connection is refused: its peer has too many");
            return;
        };
        let Self { api, acceptor, builder, limit } = self.clone();
        tokio::spawn(async move {
            let _slot = (slot, share);
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection ended before its time");
                return;
            }
            match acceptor {
                None => connection(stream, peer, api, limit, &builder, watcher).await,
                Some(acceptor) => secure(stream, &acceptor, peer, api, limit, &builder, watcher).await,
            }
        });
    }
}

/// The connections that there are.
#[derive(Clone)]
struct ConnectionLimit {
    slots: Arc<Semaphore>,
    most: usize,
}

impl ConnectionLimit {
    /// Whether connections end with their answers: when many hosts poll, those that wait for their next poll would take
    /// the place of those whose turn it is.
    fn is_large(&self) -> bool {
        self.slots.available_permits() < self.most / 2
    }
}

type Watcher = hyper_util::server::graceful::Watcher;

async fn secure(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    peer: Peer,
    api: Api,
    limit: ConnectionLimit,
    builder: &Builder<TokioExecutor>,
    watcher: Watcher,
) {
    match timeout(api.timeouts().handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => connection(stream, peer, api, limit, builder, watcher).await,
        Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
        Err(_) => tracing::debug!("a handshake took too long"),
    }
}

async fn connection<S>(
    stream: S,
    peer: Peer,
    api: Api,
    limit: ConnectionLimit,
    builder: &Builder<TokioExecutor>,
    watcher: Watcher,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let timeouts = *api.timeouts();
    let requests = Requests::default();
    let asked = requests.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let (api, limit, version) = (api.clone(), limit.clone(), request.version());
        let under_way = asked.begin(version);
        async move {
            let mut answer = Box::pin(api.answer(request)).await;
            if version <= Version::HTTP_11 && limit.is_large() {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(holding(answer, under_way))
        }
    });
    let stream = TokioIo::new(Stall::new(stream, timeouts.write));
    let connection = builder.serve_connection(stream, service).into_owned();
    let connection = std::pin::pin!(watcher.watch(connection));
    let ended = tokio::select! {
        ended = connection => ended,
        () = requests.idle(IdleTimeouts { first: timeouts.head, next: timeouts.idle }) => {
            return tracing::debug!("a client that asks nothing is cut off");
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection ended before its time");
    }
}

/// Whether an error of accepting is about one connection only.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
