//! The error of a use case.

use std::error::Error as StdError;

use assisted_base::error::chain;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_reconcile::Failure;
use assisted_store::WriteError;
use uuid::Uuid;

/// A use case's failure, as the client sees it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request contradicts a rule; body `error`.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The caller may not; body `infra_error`.
    #[error("{message}")]
    Infra {
        kind: RefusalKind,
        /// Text for the client.
        message: String,
    },
    /// Something broke inside. The cause stands in the log under the id, and only there.
    #[error("internal error {id}")]
    Internal {
        id: Uuid,
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl Error {
    /// Something broke inside: logs the cause, with all that lies behind it, under a new id.
    pub fn internal(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = source.into();
        let id = Uuid::new_v4();
        tracing::error!(error_id = %id, error = %chain(source.as_ref()), "a use case broke");
        Self::Internal { id, source }
    }

    /// What keeps records or files fails for now, for a reason that an administrator can mend: it is shown, and the cause is logged.
    fn passing(kind: RefusalKind, reason: &str, source: &(dyn StdError + 'static)) -> Self {
        let id = Uuid::new_v4();
        tracing::error!(error_id = %id, error = %chain(source), reason, "a use case can't be served now");
        Refusal::new(kind, format!("{reason} (error {id})")).into()
    }

    /// The failure of an attempt at work: what its keeper of records or files lacks for now is not the fault of the work.
    pub(crate) fn of_row(self) -> Failure {
        let passing = matches!(self.kind(), RefusalKind::Unavailable | RefusalKind::OutOfSpace);
        Failure { message: self.to_string(), passing, stale: false }
    }

    /// What kind of refusal it is.
    pub fn kind(&self) -> RefusalKind {
        match self {
            Self::Refused(refusal) => refusal.kind,
            Self::Infra { kind, .. } => *kind,
            Self::Internal { .. } => RefusalKind::Internal,
        }
    }
}

const DATABASE_FULL: &str =
    "The service's database has no room left on its disk; nothing was changed. Make room and try again";
const FILES_FULL: &str = "The service has no room left on the disk where it keeps files; nothing was changed. Make room and try again";
const DATABASE_AWAY: &str = "The service can't reach its database just now. Try again in a moment";
const FILES_AWAY: &str =
    "The service can't reach the bucket where it keeps files just now. Try again in a moment";

impl From<assisted_store::Error> for Error {
    fn from(error: assisted_store::Error) -> Self {
        match error {
            full if full.is_full() => Self::passing(RefusalKind::OutOfSpace, DATABASE_FULL, &full),
            away if away.is_away() => Self::passing(RefusalKind::Unavailable, DATABASE_AWAY, &away),
            error => Self::internal(error),
        }
    }
}

impl From<WriteError> for Error {
    /// For writes that nobody else's can stand in the way of.
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Failed(error) => error.into(),
            conflict @ WriteError::Conflict { .. } => Self::internal(conflict),
        }
    }
}

impl From<assisted_blob::Error> for Error {
    fn from(error: assisted_blob::Error) -> Self {
        match error {
            full if full.is_full() => Self::passing(RefusalKind::OutOfSpace, FILES_FULL, &full),
            away if away.is_away() => Self::passing(RefusalKind::Unavailable, FILES_AWAY, &away),
            error => Self::internal(error),
        }
    }
}

/// The failure of whoever takes work or gives it back: the database is to blame, whatever the work is.
pub(crate) fn passing(error: &(dyn StdError + 'static)) -> Failure {
    Failure::passing(chain(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_error_shows_its_id_and_not_its_cause() {
        let error = Error::internal(std::io::Error::other("the disk is on fire"));
        let Error::Internal { id, .. } = &error else { panic!("{error:?}") };
        assert_eq!(error.to_string(), format!("internal error {id}"));
        assert_eq!(error.kind(), RefusalKind::Internal);
    }
}
