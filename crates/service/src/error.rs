//! Why a use case fails.

use std::error::Error as StdError;

use assisted_core::refusal::Refusal;
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
        /// HTTP status.
        status: u16,
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

    /// HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::Refused(refusal) => refusal.status,
            Self::Infra { status, .. } => *status,
            Self::Internal { .. } => 500,
        }
    }
}

/// An error's text with those of its causes.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_error_shows_its_id_and_not_its_cause() {
        let error = Error::internal(std::io::Error::other("the disk is on fire"));
        let Error::Internal { id, .. } = &error else { panic!("{error:?}") };
        assert_eq!(error.to_string(), format!("internal error {id}"));
        assert_eq!(error.status(), 500);
    }
}
