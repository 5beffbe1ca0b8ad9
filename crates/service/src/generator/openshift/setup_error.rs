//! Why there is no generator, and the files that one is set up from.

use std::io;
use std::path::{Path, PathBuf};

use assisted_release::mirror::MirrorError;
use assisted_release::reference::ReferenceError;
use assisted_release::{CacheError, RegistryError};

/// Why there is no generator.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{path} can't be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("REGISTRIES_CONF_FILE={path}: {source}")]
    Mirrors { path: PathBuf, source: MirrorError },
    #[error("OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR: {0}")]
    ReleaseMirror(#[from] ReferenceError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(
        "INSTALL_RH_CA is set, but {path} holds no certificates: put them there, or name their file in RH_CA_FILE"
    )]
    NoVendorAuthority { path: PathBuf },
    #[error(
        "EPHEMERAL_INSTALLER_CLUSTER_TLS_CERTS_OVERRIDE_DIR={path} is no folder that can be read: unset it, or make it: {source}"
    )]
    TlsDir { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Registries(RegistryError),
    #[error("{path} can't be emptied: {source}")]
    Clear { path: PathBuf, source: io::Error },
}

pub(super) fn read(path: &Path) -> Result<String, SetupError> {
    std::fs::read_to_string(path).map_err(|source| SetupError::Read { path: path.to_owned(), source })
}

/// A file that need not be there.
pub(super) fn optional(path: &Path) -> Result<Option<String>, SetupError> {
    match read(path) {
        Ok(text) => Ok(Some(text)),
        Err(SetupError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
