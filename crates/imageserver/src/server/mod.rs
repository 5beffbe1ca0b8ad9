//! Listeners: connections are accepted within a bound, and end gracefully.

mod connection;

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::connection::serve as serve_connection;
use crate::Images;
use crate::http::transport::{Stream, Transport};
use crate::places::{Place, Places};

pub use self::connection::Timeouts;

/// Connections at a time; further ones wait in the queue of the system, and those of an address that has its share are closed.
const MOST_CONNECTIONS: usize = 16 * 1024;

/// A place to listen, and how.
pub struct Listener {
    pub tcp: TcpListener,
    /// Certificate and key; none: plain HTTP. What else it says is put right for images.
    pub tls: Option<Arc<ServerConfig>>,
}

/// Serves images on all listeners until `stop` ends; then answers under way are finished, `drain` long at the most, or
/// without a limit.
///
/// # Errors
///
/// When a task breaks.
pub async fn serve(
    listeners: Vec<Listener>,
    images: Images,
    timeouts: Timeouts,
    stop: impl Future<Output = ()>,
    drain: Option<Duration>,
) -> io::Result<()> {
    let stopping = CancellationToken::new();
    let connections = TaskTracker::new();
    let places = Places::new(MOST_CONNECTIONS);
    let mut accepting = tokio::task::JoinSet::new();
    for listener in listeners {
        let accept = Accept {
            images: images.clone(),
            timeouts,
            places: places.clone(),
            connections: connections.clone(),
            stopping: stopping.clone(),
        };
        accepting.spawn(accept.run(listener));
    }
    let ended = tokio::select! {
        () = stop => Ok(()),
        Some(ended) = accepting.join_next() => ended.map_err(io::Error::other),
    };
    stopping.cancel();
    while accepting.join_next().await.is_some() {}
    connections.close();
    match drain {
        None => connections.wait().await,
        Some(drain) => {
            if timeout(drain, connections.wait()).await.is_err() {
                tracing::warn!(connections = connections.len(), "downloads are cut: they took too long");
            }
        }
    }
    ended
}

/// What accepts the connections of one listener.
struct Accept {
    images: Images,
    timeouts: Timeouts,
    places: Places,
    connections: TaskTracker,
    stopping: CancellationToken,
}

/// A connection that was let in.
struct Accepted {
    stream: TcpStream,
    peer: IpAddr,
    place: Place,
}

impl Accept {
    async fn run(self, listener: Listener) {
        let acceptor = listener.tls.map(for_images).map(TlsAcceptor::from);
        loop {
            let accepted = tokio::select! {
                accepted = self.next(&listener.tcp) => accepted,
                () = self.stopping.cancelled() => return,
            };
            let Some(Accepted { stream, peer, place }) = accepted else { continue };
            let (images, acceptor) = (self.images.clone(), acceptor.clone());
            let (timeouts, stopping) = (self.timeouts, self.stopping.clone());
            self.connections.spawn(async move {
                let _place = place;
                if let Some(stream) = open(stream, acceptor, timeouts).await {
                    let transport = Transport::new(stream, timeouts.stall, timeouts.rate);
                    serve_connection(transport, peer, images, timeouts, stopping).await;
                }
            });
        }
    }

    async fn next(&self, listener: &TcpListener) -> Option<Accepted> {
        // Whoever can't have one yet waits in the queue of the system.
        let vacancy = self.places.vacancy().await;
        match listener.accept().await {
            Ok((stream, address)) => {
                // Where IPv6 takes connections of IPv4, an address has two forms.
                let peer = address.ip().to_canonical();
                let Some(place) = vacancy.give(peer) else {
                    tracing::debug!(%peer, "a connection is closed: its address has as many as it may");
                    return None;
                };
                Some(Accepted { stream, peer, place })
            }
            Err(error) => {
                use io::ErrorKind::{ConnectionAborted, ConnectionReset};
                if !matches!(error.kind(), ConnectionAborted | ConnectionReset) {
                    // Out of files or memory: give the connections that there are a chance to end.
                    tracing::warn!(%error, "a connection is not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                None
            }
        }
    }
}

/// HTTP/1.1 only. Boards and loaders come once for gigabytes: fewer bytes at rest matter more than a quicker second handshake.
fn for_images(tls: Arc<ServerConfig>) -> Arc<ServerConfig> {
    let mut tls = Arc::unwrap_or_clone(tls);
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    tls.send_tls13_tickets = 1;
    Arc::new(tls)
}

async fn open(stream: TcpStream, acceptor: Option<TlsAcceptor>, timeouts: Timeouts) -> Option<Stream> {
    if let Err(error) = prepare(&stream) {
        tracing::debug!(%error, "a connection ended before its time");
        return None;
    }
    let Some(acceptor) = acceptor else { return Some(Stream::Plain(stream)) };
    match timeout(timeouts.handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Some(Stream::Secure(Box::new(stream))),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a handshake failed");
            None
        }
        Err(_) => {
            tracing::debug!("a handshake took too long");
            None
        }
    }
}

/// No waiting for full packets, and a client that has gone without a word is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
    rustix::net::sockopt::set_tcp_keepintvl(stream, Duration::from_secs(15))?;
    Ok(())
}
