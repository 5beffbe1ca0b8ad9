//! Whom an HTTP client trusts, and as whom it speaks: PEM made into what the HTTP library wants.

use std::path::{Path, PathBuf};

use assisted_base::pem::{self, PemError};
use reqwest::{Certificate, Identity};
use secrecy::{ExposeSecret, SecretString};

/// Largest CA file that is read, in bytes.
const LIMIT: u64 = 4 << 20;

/// Why a text can't be used. Nothing of a key shows in it.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("can't read the CA file {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the CA file {} holds no usable certificate: {source}", path.display())]
    NoCertificate { path: PathBuf, source: Box<TrustError> },
    #[error(transparent)]
    Pem(#[from] PemError),
    #[error("certificate or key can't be used: {0}")]
    Unusable(#[from] reqwest::Error),
}

/// The certificates of a text, to be trusted.
///
/// # Errors
///
/// When the text is broken, or holds no certificate.
pub fn authorities(text: &[u8]) -> Result<Vec<Certificate>, TrustError> {
    let found = pem::certificates(text)?;
    if found.is_empty() {
        return Err(PemError::Missing("certificate").into());
    }
    found.iter().map(|certificate| Ok(Certificate::from_der(certificate)?)).collect()
}

/// The certificates of a file, to be trusted.
///
/// # Errors
///
/// When the file can't be read, is broken, or holds no certificate.
pub fn authorities_of_file(path: &Path) -> Result<Vec<Certificate>, TrustError> {
    let refuse = |source| TrustError::Read { path: path.to_owned(), source };
    let length = std::fs::metadata(path).map_err(refuse)?.len();
    if length > LIMIT {
        return Err(refuse(std::io::Error::other(format!("it is longer than {LIMIT} bytes"))));
    }
    let text = std::fs::read(path).map_err(refuse)?;
    authorities(&text)
        .map_err(|source| TrustError::NoCertificate { path: path.to_owned(), source: Box::new(source) })
}

/// The chain and the key of a text, to be shown to servers.
///
/// # Errors
///
/// When the text is broken, or lacks one of the two.
pub fn identity(text: &[u8]) -> Result<Identity, TrustError> {
    // The library reads PEM only, and less of it.
    let written = SecretString::from(pem::identity(text)?);
    Ok(Identity::from_pem(written.expose_secret().as_bytes())?)
}
