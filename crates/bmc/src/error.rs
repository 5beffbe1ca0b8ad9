//! Why a management controller does not do what it should.

use std::time::Duration;

use assisted_base::http::BodyError;
use reqwest::{Method, StatusCode};

/// How long a machine may take until it is off, or on.
pub(crate) const POWER_LIMIT: Duration = Duration::from_secs(180);

/// Why a management controller does not do what it should. No password shows in it.
#[derive(Debug, thiserror::Error)]
pub enum RedfishError {
    /// The address, or the trust, can't be used.
    #[error("{system} can't be used: {reason}")]
    Settings { system: String, reason: String },
    #[error("{url} can't be reached: {}", assisted_base::error::root_cause(source))]
    Unreachable { url: String, source: reqwest::Error },
    #[error("the answer of {url} can't be read")]
    Body { url: String, source: BodyError },
    #[error("{url} refused {method} ({status}): {said}")]
    Refused { url: String, method: Method, status: StatusCode, said: String },
    /// What every machine has that can be installed by its controller.
    #[error("{url} has no {what}: is it the address of a system, such as https://…/redfish/v1/Systems/1?")]
    Missing { url: String, what: &'static str },
    #[error("{url} is still {state} after {} s", POWER_LIMIT.as_secs())]
    Power { url: String, state: String },
}
