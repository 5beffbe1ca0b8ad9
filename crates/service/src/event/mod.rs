//! Events.

use assisted_wire::event::{Event, EventCategory, EventList, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};

use crate::{Caller, Error, Service};

/// Which events to list.
#[derive(Clone, Debug, Default)]
pub struct ListEvents {
    pub cluster_id: Option<ClusterId>,
    pub host_id: Option<HostId>,
    pub host_ids: Option<Vec<HostId>>,
    pub infra_env_id: Option<InfraEnvId>,
    /// `None`: 5000; negative: all.
    pub limit: Option<i64>,
    pub offset: Option<i64>,
    /// Newest first.
    pub descending: bool,
    pub severities: Option<Vec<EventSeverity>>,
    /// Part of the message, in any case; only with a cluster.
    pub message: Option<String>,
    pub deleted_hosts: Option<bool>,
    pub cluster_level: Option<bool>,
    /// `None`: those for users.
    pub categories: Option<Vec<EventCategory>>,
}

/// A page of events, with the counts that go into the response headers.
#[derive(Clone, Debug, Default)]
pub struct EventPage {
    pub events: EventList,
    /// Header `Severity-Count-Info`.
    pub info: u64,
    /// Header `Severity-Count-Warning`.
    pub warning: u64,
    /// Header `Severity-Count-Error`.
    pub error: u64,
    /// Header `Severity-Count-Critical`.
    pub critical: u64,
    /// Header `Event-Count`: events before paging.
    pub total: u64,
}

impl Service {
    /// Operation `list_events`.
    pub async fn list_events(&self, caller: &Caller, query: ListEvents) -> Result<EventPage, Error> {
        let _ = (caller, query);
        Err(Error::internal("not built yet"))
    }

    /// Operation `trigger_event`.
    pub async fn trigger_event(&self, caller: &Caller, event: Event) -> Result<(), Error> {
        let _ = (caller, event);
        Err(Error::internal("not built yet"))
    }
}
