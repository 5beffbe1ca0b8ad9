//! Certificate and key of a TLS listener.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Why there is no TLS listener. A key never shows.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificate file {} can't be read; give a chain in PEM form", path.display())]
    Certificate {
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    #[error("the key file {} can't be read; give a private key in PEM form", path.display())]
    Key {
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    #[error("certificate and key can't be used")]
    Pair(#[from] rustls::Error),
}

/// Reads certificate chain and key, both PEM: TLS 1.2 and up, HTTP/1.1.
///
/// # Errors
///
/// When a file can't be read, or key and certificate do not fit.
pub fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|source| TlsError::Certificate { path: certificate.to_owned(), source })?;
    let key =
        PrivateKeyDer::from_pem_file(key).map_err(|source| TlsError::Key { path: key.to_owned(), source })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::DEFAULT_VERSIONS)?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Boards and loaders come once for gigabytes: fewer bytes at rest matter more than a quicker second handshake.
    config.send_tls13_tickets = 1;
    Ok(Arc::new(config))
}
