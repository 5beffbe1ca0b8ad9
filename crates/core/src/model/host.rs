//! The stored record of a host.

use std::net::IpAddr;

use assisted_wire::host::Host;
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::machine::Machine;
use assisted_wire::secret::Secret;
use serde::{Deserialize, Serialize};

/// A host's identity: the same machine may appear in several infra-envs as independent hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostKey {
    /// The infra-env that the host registered with.
    pub infra_env_id: InfraEnvId,
    /// The host's id.
    pub host_id: HostId,
}

/// A host as it is stored: what the API shows, and what it never shows.
///
/// Big reports (see [`super::report::ReportKind`]) and the time of the last check-in are kept apart, and laid over
/// `host` when it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostRecord {
    /// What the API shows, without the reports.
    pub host: Host,
    /// Token for the Ignition endpoint; the API only shows whether there is one.
    #[serde(default)]
    pub ignition_endpoint_token: Secret,
    /// JSON map of headers for the Ignition endpoint; never shown.
    #[serde(default)]
    pub ignition_endpoint_http_headers: String,
    /// Seconds by which the host's clock was ahead of the service's when that last changed; `None`: never reported.
    ///
    /// `host.timestamp` is made from it and the time of the last check-in when the host is read, so that a poll that
    /// reports nothing new writes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ahead_seconds: Option<i64>,
    /// The machine that its agent reported at its last registration; `None`: the agent reported none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// What is kept of the key that its agent registered with, and shows ever after; `None`: the agent has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_key: Option<Box<str>>,
    /// Where its last registration came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_from: Option<IpAddr>,
    /// Whether the next registration may be another machine's: a user has said that its board was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub machine_released: bool,
    /// Whether somebody has approved it by its object of the Kubernetes API (state-machines §4.16).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
}
