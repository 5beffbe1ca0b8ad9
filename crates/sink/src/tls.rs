//! Whom connections to brokers trust.

use std::path::Path;
use std::sync::Arc;

use assisted_base::http::install_crypto;
use assisted_base::pem;
use rustls::{ClientConfig, RootCertStore};

use crate::message::SetupError;

/// What the authorities of a file signed; without a file, what the system trusts.
pub(crate) fn client(
    variable: &'static str,
    authorities: Option<&Path>,
) -> Result<Arc<ClientConfig>, SetupError> {
    let unusable = |problem: String| SetupError::Unusable { variable, problem };
    let mut roots = RootCertStore::empty();
    match authorities {
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
        Some(path) => {
            let text =
                std::fs::read(path).map_err(|error| unusable(format!("{}: {error}", path.display())))?;
            for certificate in pem::certificates(&text).map_err(|error| unusable(error.to_string()))? {
                roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
            }
        }
    }
    if roots.is_empty() {
        return Err(unusable("there is no authority to be trusted".to_owned()));
    }
    install_crypto();
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}
