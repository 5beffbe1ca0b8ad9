//! The certificate of the listener, which can be replaced while it listens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assisted_base::pem::{self, PemError};
use parking_lot::RwLock;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SupportedProtocolVersion};
use tokio_util::sync::CancellationToken;

/// Between two looks at the files of a certificate: who rotates them replaces them long before the old ones end.
const LOOK: Duration = Duration::from_secs(60);

/// Why there is no listener with TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{} can't be read", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not in PEM form", path.display())]
    Pem { path: PathBuf, source: PemError },
    #[error("certificate or key is not in PEM form")]
    Text(#[from] PemError),
    #[error("certificate and key can't be used")]
    Pair(#[from] rustls::Error),
    #[error("the lowest version of TLS is VersionTLS12 or VersionTLS13, and not {0:?}")]
    Version(String),
    #[error("none of the cipher suites {0:?} is known here")]
    Suites(String),
}

/// The certificate that is shown to clients; connections that there are keep theirs.
#[derive(Debug, Default)]
pub struct Certified(RwLock<Option<Arc<CertifiedKey>>>);

impl ResolvesServerCert for Certified {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.read().clone()
    }
}

impl Certified {
    /// Shows this chain from now on. Both are in PEM form.
    ///
    /// # Errors
    /// One can't be read, or they don't fit.
    pub fn set(&self, chain: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let (chain, key) = (pem::certificates(chain)?, pem::private_key(key)?);
        let pair = CertifiedKey::from_der(chain, key, &ring::default_provider())?;
        *self.0.write() = Some(Arc::new(pair));
        Ok(())
    }

    /// Whether there is one.
    pub fn is_set(&self) -> bool {
        self.0.read().is_some()
    }
}

/// What clients may speak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protocols {
    /// `VersionTLS12` or `VersionTLS13`; empty: TLS 1.2.
    pub min_version: String,
    /// Names of IANA, separated by commas; empty: all that are safe.
    pub cipher_suites: String,
}

/// Settings of a listener that shows `certified`.
///
/// # Errors
/// The protocols leave nothing to speak.
pub fn server_config(
    certified: Arc<Certified>,
    protocols: &Protocols,
) -> Result<Arc<ServerConfig>, TlsError> {
    let versions: &[&SupportedProtocolVersion] = match protocols.min_version.as_str() {
        "" | "VersionTLS12" => rustls::DEFAULT_VERSIONS,
        "VersionTLS13" => &[&rustls::version::TLS13],
        other => return Err(TlsError::Version(other.to_owned())),
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider(&protocols.cipher_suites)?))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(certified);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The ciphers of a list; those of it that are not known here are left out, as long as one remains. Those of TLS 1.3 always stay.
fn provider(suites: &str) -> Result<CryptoProvider, TlsError> {
    let mut provider = ring::default_provider();
    if suites.trim().is_empty() {
        return Ok(provider);
    }
    let wanted: Vec<_> = suites.split(',').map(str::trim).collect();
    let named = |suite: &rustls::SupportedCipherSuite| {
        let name = format!("{:?}", suite.suite());
        wanted.contains(&name.replacen("TLS13_", "TLS_", 1).as_str())
    };
    if !provider.cipher_suites.iter().any(named) {
        return Err(TlsError::Suites(suites.to_owned()));
    }
    provider.cipher_suites.retain(|suite| suite.tls13().is_some() || named(suite));
    Ok(provider)
}

/// The files of a certificate that somebody else keeps.
#[derive(Clone, Debug)]
pub struct Files {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Files {
    /// Shows what stands in the files.
    ///
    /// # Errors
    /// They can't be read, or don't fit.
    pub fn show(&self, certified: &Certified) -> Result<(), TlsError> {
        self.read().and_then(|(chain, key)| certified.set(&chain, &key))
    }

    /// Shows what stands in the files whenever it changes, until it is stopped. Files that don't fit, since one of them is written
    /// and the other is not yet, change nothing.
    pub async fn follow(self, certified: Arc<Certified>, stop: CancellationToken) {
        let mut shown = self.read().ok();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let changed = match self.read() {
                Ok(read) if shown.as_ref() == Some(&read) => continue,
                Ok(read) => certified.set(&read.0, &read.1).map(|()| shown = Some(read)),
                Err(error) => Err(error),
            };
            match changed {
                Ok(()) => tracing::info!("the certificate is replaced"),
                Err(error) => tracing::warn!(%error, "the files of the certificate can't be used"),
            }
        }
    }

    fn read(&self) -> Result<(Vec<u8>, Vec<u8>), TlsError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
        };
        Ok((read(&self.certificate)?, read(&self.key)?))
    }
}
