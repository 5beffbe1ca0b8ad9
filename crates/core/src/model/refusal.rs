//! Why a request is refused.

use std::fmt;
use std::time::Duration;

/// What kind of refusal it is. Each front end turns it into its own: the REST API into an HTTP status, others into the reason
/// of a condition.
///
/// Existing clients know each refusal by its number, so that a rule gives the kind that clients expect, even where another
/// would say more: some changes in the wrong state are [`RefusalKind::Internal`], most are [`RefusalKind::Conflict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request contradicts a rule.
    Invalid,
    /// Somebody is not known to whom the request leads.
    Unauthorized,
    /// The caller may not do this.
    Forbidden,
    /// The object does not exist.
    NotFound,
    /// The object is in the wrong state.
    Conflict,
    /// The request can be read, and its content can't be processed.
    Unprocessable,
    /// The service can't do it, or clients know the refusal as a failure of the service.
    Internal,
    /// The service can't do it now, or not until an administrator changes its settings.
    Unavailable,
    /// There is no room left to store it.
    OutOfSpace,
}

/// A refusal with the text that the client sees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    pub kind: RefusalKind,
    /// Text for the client; never holds a secret.
    pub reason: String,
    /// After how long it is over, where that is known.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal of a kind.
    pub fn new(kind: RefusalKind, reason: impl fmt::Display) -> Self {
        Self { kind, reason: reason.to_string(), retry_after: None }
    }

    /// [`RefusalKind::Unavailable`] for a time that is known.
    pub fn unavailable_for(time: Duration, reason: impl fmt::Display) -> Self {
        Self { retry_after: Some(time), ..Self::new(RefusalKind::Unavailable, reason) }
    }

    /// [`RefusalKind::Invalid`]: the request contradicts a rule.
    pub fn invalid(reason: impl fmt::Display) -> Self {
        Self::new(RefusalKind::Invalid, reason)
    }

    /// [`RefusalKind::NotFound`]: the object does not exist.
    pub fn not_found(reason: impl fmt::Display) -> Self {
        Self::new(RefusalKind::NotFound, reason)
    }

    /// [`RefusalKind::Conflict`]: the object is in the wrong state.
    pub fn conflict(reason: impl fmt::Display) -> Self {
        Self::new(RefusalKind::Conflict, reason)
    }

    /// [`RefusalKind::Internal`]: the service can't do it, or clients know the refusal as a failure of the service.
    pub fn internal(reason: impl fmt::Display) -> Self {
        Self::new(RefusalKind::Internal, reason)
    }
}

/// Several problems in one text, as existing clients read it.
pub(crate) fn collected(problems: &[String]) -> Option<String> {
    let count = problems.len();
    let noun = if count == 1 { "error" } else { "errors" };
    let list: Vec<String> = problems.iter().map(|problem| format!("\t* {problem}")).collect();
    (count > 0).then(|| format!("{count} {noun} occurred:\n{}\n\n", list.join("\n")))
}
