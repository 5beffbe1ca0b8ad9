//! Certificates that are trusted in outgoing connections.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use assisted_base::pem;
use reqwest::Certificate;

/// Bytes of a file with certificates at most.
const LONGEST: u64 = 4 << 20;

/// Why certificates can't be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("the CA file {} can't be read", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the CA file {} holds no usable certificate", path.display())]
    Empty { path: PathBuf },
}

/// The certificates of a file (PEM); none without a file.
pub(crate) fn certificates(path: Option<&Path>) -> Result<Vec<Certificate>, TrustError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST).read_to_end(&mut text))
        .map_err(|source| TrustError::Read { path: path.to_owned(), source })?;
    let found = pem::certificates(&text).unwrap_or_default();
    let trusted: Vec<_> = found.iter().filter_map(|der| Certificate::from_der(der).ok()).collect();
    if trusted.is_empty() { Err(TrustError::Empty { path: path.to_owned() }) } else { Ok(trusted) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_must_hold_a_certificate() {
        assert!(certificates(None).unwrap().is_empty());
        assert!(matches!(certificates(Some(Path::new("/nowhere"))), Err(TrustError::Read { .. })));
        assert!(matches!(certificates(Some(Path::new("/dev/null"))), Err(TrustError::Empty { .. })));
    }
}
