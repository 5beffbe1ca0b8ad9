//! Events: what happened to clusters, hosts and infra-envs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{ClusterId, HostId, InfraEnvId};
use crate::text_enum;
use crate::time::DateTime;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "event-list")]
pub struct EventList(pub Vec<Event>);

text_enum! {
    #[schemars(inline)]
    pub enum EventSeverity {
        Info = "info",
        Warning = "warning",
        Error = "error",
        Critical = "critical",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum EventCategory {
        User = "user",
        Metrics = "metrics",
    }
}

/// One thing that happened; `message` is for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "event")]
pub struct Event {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub host_id: Option<HostId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub infra_env_id: Option<InfraEnvId>,
    pub severity: EventSeverity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<EventCategory>,
    pub message: String,
    pub event_time: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub props: String,
}
