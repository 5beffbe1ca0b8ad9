//! The authorities that simulated machines trust.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assisted_base::pem;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

/// Why there can be no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{0:?} is no name that a certificate could bear")]
    Name(String),
    #[error("the certificates in {} can't be used: {cause}", path.display())]
    Certificates { path: PathBuf, cause: String },
    #[error("TLS can't be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// TLS with one service.
#[derive(Clone, Debug)]
pub struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    /// What the service's certificate must bear.
    pub(crate) name: ServerName<'static>,
}

impl Tls {
    /// Trusts the system's certificates, and those in a PEM file.
    pub fn new(name: &str, ca_file: Option<&Path>) -> Result<Self, TlsError> {
        let name = ServerName::try_from(name.to_owned()).map_err(|_| TlsError::Name(name.to_owned()))?;
        let mut roots = RootCertStore::empty();
        // What can't be read is not trusted; a service that needs it is refused with the reason.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = ca_file {
            let fail = |cause: String| TlsError::Certificates { path: path.to_owned(), cause };
            let text = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
            let found = pem::certificates(&text).map_err(|error| fail(error.to_string()))?;
            if found.is_empty() {
                return Err(fail("there are none".to_owned()));
            }
            for certificate in found {
                roots.add(certificate).map_err(|error| fail(error.to_string()))?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { config: Arc::new(config), name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_input_is_refused() {
        assert!(matches!(Tls::new("a b", None), Err(TlsError::Name(_))));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        assert!(matches!(Tls::new("a", Some(&path)), Err(TlsError::Certificates { .. })));
        std::fs::write(&path, "nothing").unwrap();
        assert!(Tls::new("a", Some(&path)).is_err_and(|error| error.to_string().contains("there are none")));
        assert!(Tls::new("127.0.0.1", None).is_ok());
    }
}
