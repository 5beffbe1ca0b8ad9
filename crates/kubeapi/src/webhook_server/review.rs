//! AdmissionReview, as the API server sends it, and the answer.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::verdict::{Denial, Verdict};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Why a body is no review.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("the body is no AdmissionReview: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the body is {kind:?} of {api_version:?}, and not AdmissionReview of admission.k8s.io/v1")]
    Kind { api_version: String, kind: String },
    #[error("the review has no request, or a request without uid")]
    Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow)]
    request: Option<Request<'a>>,
}

/// What is asked. The objects are read only by whom they are for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request<'a> {
    /// Goes back with the answer.
    pub uid: String,
    #[serde(default)]
    pub resource: Resource,
    /// `status` and the like; empty for the object itself.
    #[serde(default)]
    pub sub_resource: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    #[serde(default)]
    pub operation: String,
    #[serde(default)]
    pub namespace: String,
    #[serde(default)]
    pub name: String,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    old_object: Option<&'a RawValue>,
}

/// A resource of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub resource: String,
}

/// Reads a review.
///
/// # Errors
/// The body is no review with a request.
pub fn read(body: &[u8]) -> Result<Request<'_>, ReviewError> {
    let review: Review<'_> = serde_json::from_slice(body)?;
    if (review.api_version.as_str(), review.kind.as_str()) != (API_VERSION, KIND) {
        return Err(ReviewError::Kind { api_version: review.api_version, kind: review.kind });
    }
    review.request.filter(|request| !request.uid.is_empty()).ok_or(ReviewError::Request)
}

impl Request<'_> {
    /// The object as it is to be.
    ///
    /// # Errors
    /// There is none, or it is of another form.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T, String> {
        parse(self.object, "object")
    }

    /// The object as it is.
    ///
    /// # Errors
    /// There is none, or it is of another form.
    pub fn old_object<T: DeserializeOwned>(&self) -> Result<T, String> {
        parse(self.old_object, "oldObject")
    }
}

fn parse<T: DeserializeOwned>(object: Option<&RawValue>, member: &str) -> Result<T, String> {
    let object = object.ok_or_else(|| format!("the request has no {member}"))?;
    serde_json::from_str(object.get()).map_err(|error| format!("the {member} can't be read: {error}"))
}

/// The review that answers a request. A verdict that still depends on a cluster denies.
pub fn answer(uid: &str, verdict: &Verdict) -> Value {
    let denied = |denial: &Denial| {
        json!({"uid": uid, "allowed": false, "status": {
            "status": "Failure",
            "reason": denial.reason.as_str(),
            "code": denial.reason.code(),
            "message": denial.message,
        }})
    };
    let response = match verdict {
        Verdict::Allowed => json!({"uid": uid, "allowed": true}),
        Verdict::Denied(denial) | Verdict::DeniedUnlessInstalled { denial, .. } => denied(denial),
        Verdict::Changed(addition) => {
            let patch = STANDARD.encode(addition.patch().to_string());
            json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": patch})
        }
    };
    json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
}
