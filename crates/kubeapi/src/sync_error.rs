//! Why what objects say can't be brought to the service, for the condition `SpecSynced` and its kin.

use assisted_core::model::refusal::RefusalKind;

/// Who can mend a problem (kube-api §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Who wrote the objects.
    Input,
    /// Nobody yet: something that the objects refer to is not there, and may come.
    Backend,
}

/// Why what objects say can't be brought to the service. Its text is for the status of the object, and never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct SyncError {
    pub class: Class,
    pub text: String,
}

impl SyncError {
    /// What is written in the objects themselves is wrong.
    pub fn input(text: impl Into<String>) -> Self {
        Self { class: Class::Input, text: text.into() }
    }

    /// Something that the objects refer to is missing.
    pub fn backend(text: impl Into<String>) -> Self {
        Self { class: Class::Backend, text: text.into() }
    }
}

/// Whoever wrote the objects can mend what the service refuses (400 to 499); all else passes, or is ours to mend.
impl From<&assisted_service::Error> for SyncError {
    fn from(error: &assisted_service::Error) -> Self {
        use RefusalKind::{Conflict, Forbidden, Invalid, NotFound, Unprocessable};
        let class = match error.kind() {
            Invalid | Forbidden | NotFound | Conflict | Unprocessable => Class::Input,
            RefusalKind::Unauthorized
            | RefusalKind::Internal
            | RefusalKind::Unavailable
            | RefusalKind::OutOfSpace => Class::Backend,
        };
        Self { class, text: error.to_string() }
    }
}
