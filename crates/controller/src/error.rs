//! Errors of the controller: those that end it, and those of a reconcile loop, which are logged with their causes and followed
//! by another attempt.

use assisted_client::Error as ServiceError;
use assisted_kube::client::ConnectError;

use crate::config::ConfigError;
use crate::service::FileError;

/// What ends the controller, for its Job to start it anew.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the service's address, token or certificates can't be used")]
    Service(#[from] assisted_client::BuildError),
    #[error("no credentials for the cluster's API")]
    Credentials(#[from] ConnectError),
    #[error("the cluster's API does not answer as it should")]
    Kube(#[source] Box<kube::Error>),
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

/// Why a pass of a reconcile loop did not reach its end. Another pass may.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    #[error("the service did not answer as it should")]
    Service(#[from] ServiceError),
    #[error("the cluster's API did not answer as it should")]
    Kube(#[source] Box<kube::Error>),
    #[error("a file of the service could not be had")]
    File(#[from] FileError),
    #[error("there is no access to the cluster as its administrator")]
    Credentials(#[from] ConnectError),
    /// Nothing is wrong: it takes its time.
    #[error("{0}")]
    NotYet(String),
    #[error("{what} can't be read")]
    Malformed { what: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// Some of several failed; the others are done.
    #[error("{}", joined(.0))]
    Several(Vec<(String, Self)>),
}

impl ReconcileError {
    /// An error for something that is not there yet and will come.
    pub(crate) fn not_yet(what: impl Into<String>) -> Self {
        Self::NotYet(what.into())
    }

    /// For `map_err`: a text that is not what it should be.
    pub(crate) fn malformed<E>(what: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let what = what.into();
        move |source| Self::Malformed { what, source: Box::new(source) }
    }

    /// An error, unless nothing failed.
    pub(crate) fn of_several(failed: Vec<(String, Self)>) -> Result<(), Self> {
        if failed.is_empty() { Ok(()) } else { Err(Self::Several(failed)) }
    }
}

impl From<kube::Error> for ReconcileError {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

/// Each failure with its causes.
fn joined(failed: &[(String, ReconcileError)]) -> String {
    let one =
        |(what, error): &(String, ReconcileError)| format!("{what}: {}", assisted_base::error::chain(error));
    failed.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A failure, by what follows from it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Another attempt may succeed.
    #[error(transparent)]
    Retryable(ReconcileError),
    /// No attempt will succeed before somebody changes something.
    #[error(transparent)]
    Terminal(ReconcileError),
}

impl<E: Into<ReconcileError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Retryable(error.into())
    }
}

#[cfg(test)]
mod tests {
    use assisted_base::error::chain;

    use super::*;

    #[test]
    fn causes_are_kept_to_the_last() {
        let io = || std::io::Error::other("the disk is on fire");
        let read = ConnectError::Read { path: "/kubeconfig".into(), source: io() };
        assert_eq!(
            chain(&Error::from(read)),
            "no credentials for the cluster's API: /kubeconfig can't be read: the disk is on fire"
        );
        let one = ReconcileError::malformed("a.json")(io());
        let all = ReconcileError::of_several(vec![
            ("lvm".to_owned(), one),
            ("odf".to_owned(), ReconcileError::not_yet("its subscription has brought nothing yet")),
        ]);
        let all = all.err().map(|error| chain(&Failure::from(error)));
        assert_eq!(
            all.as_deref(),
            Some(
                "lvm: a.json can't be read: the disk is on fire; odf: its subscription has brought nothing yet"
            )
        );
        assert!(ReconcileError::of_several(Vec::new()).is_ok());
    }
}
