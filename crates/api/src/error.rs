//! Why a request does not succeed.

use std::time::Duration;

use assisted_auth::AccountError;
use assisted_base::error::chain;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_service::Error;
use uuid::Uuid;

/// The pause after which a client that was refused for a moment may send its request again.
pub(crate) const MOMENT: Duration = Duration::from_secs(4);

/// A request that does not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// Refused before a use case ran; body with an integer `code` and a `message`.
    #[error("{message}")]
    Framework { status: u16, message: String, allow: Option<String> },
    /// Refused for now; body as for a framework's.
    #[error("{message}")]
    Busy { status: u16, message: String, retry_after: Duration },
    /// Refused by a use case; body `error`.
    #[error("{reason}")]
    Application { status: u16, reason: String, retry_after: Option<Duration> },
}

impl ApiError {
    /// A refusal before the use case. An `infra_error` has the same form.
    pub(crate) fn framework(status: u16, message: impl Into<String>) -> Self {
        Self::Framework { status, message: message.into(), allow: None }
    }

    /// A refusal for a moment.
    pub(crate) fn busy(status: u16, message: impl Into<String>) -> Self {
        Self::Busy { status, message: message.into(), retry_after: MOMENT }
    }

    /// A refusal in the form of a use case's.
    pub(crate) fn application(status: u16, reason: impl Into<String>) -> Self {
        Self::Application { status, reason: reason.into(), retry_after: None }
    }

    /// Something broke on this side; the cause stands in the log under the id.
    pub(crate) fn internal(cause: &dyn std::error::Error) -> Self {
        let id = Uuid::new_v4();
        tracing::error!(error_id = %id, error = %cause, "a request broke");
        Self::application(500, format!("internal error {id}"))
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(Refusal { kind, reason, retry_after }) => {
                Self::Application { status: status_of(kind), reason, retry_after }
            }
            Error::Infra { kind, message } => Self::framework(status_of(kind), message),
            error => Self::application(status_of(error.kind()), error.to_string()),
        }
    }
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        match &error {
            AccountError::Unknown(text) => Self::framework(401, text.as_str()),
            AccountError::Unavailable(cause) => {
                tracing::warn!(error = %chain(&**cause), "the account service can't be asked");
                Self::busy(503, error.to_string())
            }
        }
    }
}

/// The HTTP status of a kind of refusal.
const fn status_of(kind: RefusalKind) -> u16 {
    match kind {
        RefusalKind::Invalid => 400,
        RefusalKind::Unauthorized => 401,
        RefusalKind::Forbidden => 403,
        RefusalKind::NotFound => 404,
        RefusalKind::Conflict => 409,
        RefusalKind::Unprocessable => 422,
        RefusalKind::Internal => 500,
        RefusalKind::Unavailable => 503,
        RefusalKind::OutOfSpace => 507,
    }
}
