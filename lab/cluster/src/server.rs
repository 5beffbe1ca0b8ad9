//! HTTP as the cluster's own servers speak it: with TLS by the certificates in files, or plain.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use assisted_base::pem;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use tracing::debug;

use crate::pki::Pair;

/// Connections at once; more wait.
const CONNECTIONS: usize = 256;
/// How long a client may take to say who it is: machines of a lab are slow.
const GREETING: Duration = Duration::from_secs(120);

/// Serves on a port of all addresses, until it is dropped. ReportedStatuses `clients`, an authority, it takes only whom that signed.
pub async fn serve(port: u16, own: &Pair, clients: Option<&str>, routes: Router) -> Result<()> {
    let certificates = pem::certificates(own.certificate.as_bytes())?;
    let key = pem::private_key(own.key.as_bytes()).context("the server's key can't be used")?;
    let builder = ServerConfig::builder();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            for certificate in pem::certificates(authority.as_bytes())? {
                roots.add(certificate)?;
            }
            builder.with_client_cert_verifier(WebPkiClientVerifier::builder(Arc::new(roots)).build()?)
        }
    };
    let mut config = builder.with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    connections(port, Some(TlsAcceptor::from(Arc::new(config))), routes).await
}

/// Serves without TLS on a port of all addresses, until it is dropped.
pub async fn serve_plain(port: u16, routes: Router) -> Result<()> {
    connections(port, None, routes).await
}

async fn connections(port: u16, tls: Option<TlsAcceptor>, routes: Router) -> Result<()> {
    let listener = TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], port)))
        .await
        .with_context(|| format!("port {port} is not free"))?;
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = room.clone().acquire_owned().await else { return Ok(()) };
        let Ok((stream, peer)) = listener.accept().await else { continue };
        let (tls, routes) = (tls.clone(), routes.clone());
        tokio::spawn(async move {
            let _place = place;
            let Some(acceptor) = tls else { return talk(stream, peer, routes).await };
            match timeout(GREETING, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => talk(stream, peer, routes).await,
                failed => debug!(%peer, error = ?failed.err(), "no TLS"),
            }
        });
    }
}

async fn talk(stream: impl AsyncRead + AsyncWrite + Unpin, peer: SocketAddr, routes: Router) {
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        routes.clone().oneshot(request)
    });
    if let Err(error) = Builder::new().serve_connection(TokioIo::new(stream), service).await {
        debug!(%peer, %error, "connection ended");
    }
}
