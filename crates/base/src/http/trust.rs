//! Whom a client trusts, and as whom it speaks: PEM made into what the HTTP library wants.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use assisted_wire::secret::Secret;
use reqwest::{Certificate, ClientBuilder, Identity};

use crate::pem::{self, PemError};

/// Largest CA file that is read, in bytes.
const LIMIT: u64 = 4 << 20;

/// Whose certificates a client takes.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// What the system trusts.
    #[default]
    System,
    /// What the system trusts, and what these authorities signed.
    Also(Vec<Certificate>),
    /// What these authorities signed, and nothing else.
    Only(Vec<Certificate>),
    /// Any, unchecked.
    Any,
}

impl Trust {
    pub(super) fn applied(self, builder: ClientBuilder) -> ClientBuilder {
        let (builder, authorities) = match self {
            Self::System => return builder,
            Self::Any => return builder.danger_accept_invalid_certs(true),
            Self::Also(authorities) => (builder, authorities),
            Self::Only(authorities) => (builder.tls_built_in_root_certs(false), authorities),
        };
        authorities.into_iter().fold(builder, ClientBuilder::add_root_certificate)
    }
}

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

/// The certificates of a text, if it holds any.
///
/// # Errors
/// When the text is broken.
pub fn certificates(text: &[u8]) -> Result<Vec<Certificate>, TrustError> {
    pem::certificates(text)?.iter().map(|certificate| Ok(Certificate::from_der(certificate)?)).collect()
}

/// The certificates of a text, to be trusted.
///
/// # Errors
/// When the text is broken, or holds no certificate.
pub fn authorities(text: &[u8]) -> Result<Vec<Certificate>, TrustError> {
    let found = certificates(text)?;
    if found.is_empty() { Err(PemError::Missing("certificate").into()) } else { Ok(found) }
}

/// The certificates of a file, to be trusted.
///
/// # Errors
/// When the file can't be read, is broken, or holds no certificate.
pub fn authorities_of_file(path: &Path) -> Result<Vec<Certificate>, TrustError> {
    let refuse = |source| TrustError::Read { path: path.to_owned(), source };
    let mut text = Vec::new();
    File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut text)).map_err(refuse)?;
    if text.len() as u64 > LIMIT {
        return Err(refuse(std::io::Error::other(format!("it is longer than {LIMIT} bytes"))));
    }
    authorities(&text)
        .map_err(|source| TrustError::NoCertificate { path: path.to_owned(), source: Box::new(source) })
}

/// The chain and the key of a text, to be shown to servers.
///
/// # Errors
/// When the text is broken, or lacks one of the two.
pub fn identity(text: &[u8]) -> Result<Identity, TrustError> {
    // The library reads PEM only, and less of it.
    let written = Secret::from(pem::identity(text)?);
    Ok(Identity::from_pem(written.expose().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_file_must_hold_a_certificate() {
        let of = |path: &str| authorities_of_file(Path::new(path));
        assert!(matches!(of("/nowhere"), Err(TrustError::Read { .. })));
        assert!(matches!(of("/dev/null"), Err(TrustError::NoCertificate { .. })));
        assert!(matches!(of("/dev/zero"), Err(TrustError::Read { .. })));
        assert!(certificates(b"").unwrap().is_empty() && authorities(b"").is_err());
    }
}
