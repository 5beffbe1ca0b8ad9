//! Events that a change brings about.

use assisted_wire::event::{EventCategory, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};

/// An event before it is stored: the store adds its number, the caller its time and request id.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Name in the event catalogue.
    pub name: &'static str,
    pub severity: EventSeverity,
    pub category: EventCategory,
    pub cluster_id: Option<ClusterId>,
    pub host_id: Option<HostId>,
    pub infra_env_id: Option<InfraEnvId>,
    /// Text for people; never holds a secret.
    pub message: String,
    /// Further facts, a JSON object.
    pub props: Option<serde_json::Value>,
}
