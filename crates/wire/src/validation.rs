//! Validations with the facts behind them: an addition to the contract, whose `validations_info` knows status and message
//! only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_enum;

text_enum! {
    /// Status of a validation.
    #[schemars(inline)]
    pub enum ValidationStatus {
        Success = "success",
        Failure = "failure",
        Pending = "pending",
        Error = "error",
        Disabled = "disabled",
    }
}

text_enum! {
    /// The heading under which `validations_info` has a validation; in alphabetical order, as they are stored.
    #[schemars(inline)]
    pub enum ValidationCategory {
        Configuration = "configuration",
        Hardware = "hardware",
        HostsData = "hosts-data",
        Network = "network",
        Operators = "operators",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "validation-list")]
pub struct ValidationList(pub Vec<Validation>);

/// What a validation found; each fact is for people, and empty where it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "validation")]
pub struct Validation {
    /// A host's or a cluster's validation id; text, as newer services know more of them.
    pub id: String,
    pub category: ValidationCategory,
    pub status: ValidationStatus,
    pub message: String,
    /// What the machine or the cluster has.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub measured: String,
    /// What is needed.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub required: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub remedy: String,
    /// Where the service that answers has more about it: a path with a fragment, as in `href` of errors.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub help: String,
}

/// Path of the page that has a section about each validation.
pub const PAGE: &str = "/docs/troubleshooting";

/// Address of the section about a validation, at the service that answers.
pub fn help(id: &str) -> String {
    format!("{PAGE}#{id}")
}
