//! What all listeners of this program need: addresses, ports, a certificate, and files enough.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use assisted_config::Http;
use rustls::ServerConfig;
use tokio::net::TcpListener;

/// Reads the address of a flag.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "give an IP address and a port, such as 127.0.0.1:8090 or [::1]:8090".to_owned())
}

/// The port in a setting.
pub(crate) fn port(name: &str, text: &str, default: u16) -> Result<u16> {
    if text.is_empty() {
        return Ok(default);
    }
    text.parse().ok().with_context(|| format!("{name} {text:?} is no port"))
}

/// An address that a program on this machine reaches.
pub(crate) fn near(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Listens on an address. Where there is no IPv6, all addresses (`::`) are those of IPv4.
pub(crate) async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error)
            if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != std::io::ErrorKind::AddrInUse =>
        {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    }
}

/// Certificate and key of all listeners; none: they speak plain HTTP.
pub(crate) fn tls(http: &Http) -> Result<Option<Arc<ServerConfig>>> {
    if !http.serve_https {
        return Ok(None);
    }
    let (certificate, key) = (Path::new(&http.https_cert_file), Path::new(&http.https_key_file));
    Ok(Some(assisted_api::server::tls(certificate, key, &http.tls_min_version)?))
}

/// Each connection is a file; the limit that shells set is meant for people.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}
