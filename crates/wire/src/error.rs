//! Error bodies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_enum;

text_enum! {
    #[schemars(inline)]
    pub enum ErrorKind {
        Error = "Error",
    }
}

/// Body of a refusal by a handler; `code` is the HTTP status as a string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "error")]
pub struct Error {
    pub kind: ErrorKind,
    #[schemars(range(min = 400, max = 504))]
    pub id: i32,
    pub href: String,
    pub code: String,
    pub reason: String,
}

/// Body of a refusal before a handler ran; `code` is the HTTP status as a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "infra_error")]
pub struct InfraError {
    #[schemars(range(min = 401, max = 403))]
    pub code: i32,
    pub message: String,
}
