//! Why the controller can't do its work at all. Everything that may pass is logged and tried again instead.

use crate::config::ConfigError;

/// What ends the controller, for its Job to start it anew.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the service can't be spoken to: {0}")]
    Service(#[from] assisted_client::BuildError),
    #[error("no credentials for the cluster's API: {0}")]
    Credentials(String),
    #[error("the cluster's API: {0}")]
    Kube(#[from] Box<kube::Error>),
    #[error(
        "service and cluster could not be reached within {minutes} minutes: check that hosts reach the service's address, and that the cluster's API answers"
    )]
    NotReady { minutes: u64 },
    #[error(
        "DRY_ENABLE is set, but there is no controller of a pretended cluster: unset it, or simulate the whole with `assisted-lab simulate`"
    )]
    DryRun,
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}
