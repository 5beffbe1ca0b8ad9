//! Why a request is refused.

use std::fmt;

/// A refusal with the HTTP status and the text that the client sees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// HTTP status, 400–599.
    pub status: u16,
    /// Text for the client; never holds a secret.
    pub reason: String,
}

impl Refusal {
    /// A refusal with a status of its own.
    pub fn new(status: u16, reason: impl fmt::Display) -> Self {
        Self { status, reason: reason.to_string() }
    }

    /// 400: the request contradicts a rule.
    pub fn bad_request(reason: impl fmt::Display) -> Self {
        Self::new(400, reason)
    }

    /// 404: the object does not exist.
    pub fn not_found(reason: impl fmt::Display) -> Self {
        Self::new(404, reason)
    }

    /// 409: the object is in the wrong state.
    pub fn conflict(reason: impl fmt::Display) -> Self {
        Self::new(409, reason)
    }
}

/// Several problems in one text, as existing clients read it.
pub(crate) fn collected(problems: &[String]) -> Option<String> {
    let count = problems.len();
    let noun = if count == 1 { "error" } else { "errors" };
    let list: Vec<String> = problems.iter().map(|problem| format!("\t* {problem}")).collect();
    (count > 0).then(|| format!("{count} {noun} occurred:\n{}\n\n", list.join("\n")))
}
