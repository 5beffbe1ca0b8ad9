//! Why an installation ends; the text goes to the service with the stage `Failed`.

use crate::attempts::Exhausted;
use crate::bootstrap::{HostnameError, ManifestError, UnitError};
use crate::disk::{DeployError, RegistryError};
use crate::host::{AttemptError, FileError, RunError};
use crate::ignition::{ExtractError, MergeError};
use crate::kube::KubeError;
use crate::layering::LayeringFailure;
use crate::service::ServiceError;

/// What makes it senseless to go on.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error(transparent)]
    Attempt(#[from] AttemptError),
    #[error("--installer-args is no JSON array of texts: {0}")]
    InstallerArgs(#[source] serde_json::Error),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the bootstrap's Ignition config can't be used: {0}")]
    BootstrapIgnition(#[source] ExtractError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    Hostname(#[from] HostnameError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Unit(#[from] UnitError),
    #[error(transparent)]
    Write(#[from] Exhausted<RunError>),
    #[error(transparent)]
    Lay(#[from] Exhausted<DeployError>),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Kube(#[from] KubeError),
    #[error(transparent)]
    Layering(#[from] LayeringFailure),
}
