//! The answer of a webhook to a request: allowed, changed or denied.

use assisted_crd::common::ClusterReference;
use serde_json::{Value, json};

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Allowed,
    Denied(Denial),
    /// Denied, unless this ClusterDeployment says that its cluster is installed.
    DeniedUnlessInstalled {
        cluster: ClusterReference,
        denial: Denial,
    },
    /// Allowed, with an addition to the object.
    Changed(Addition),
}

/// A member that is added to the object.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition {
    /// Where, as a JSON pointer; what it is put into exists.
    pub path: &'static str,
    pub value: Value,
}

impl Addition {
    /// As a JSON patch (RFC 6902). Upstream replaces, which the RFC forbids for a member that is missing (kube-api §16, 20).
    pub fn patch(&self) -> Value {
        json!([{"op": "add", "path": self.path, "value": self.value}])
    }
}

/// Why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub reason: Reason,
    pub message: String,
}

/// The class of a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    BadRequest,
    Conflict,
}

impl Reason {
    /// Status of HTTP.
    pub const fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Conflict => 409,
        }
    }

    /// Reason of a `Status` of Kubernetes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::Conflict => "Conflict",
        }
    }
}

impl Denial {
    /// The object says something that can't be.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self { reason: Reason::BadRequest, message: message.into() }
    }

    /// What the object says contradicts itself.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self { reason: Reason::Conflict, message: message.into() }
    }
}

impl From<Denial> for Verdict {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

impl From<Result<(), Denial>> for Verdict {
    fn from(outcome: Result<(), Denial>) -> Self {
        outcome.map_or_else(Self::Denied, |()| Self::Allowed)
    }
}
