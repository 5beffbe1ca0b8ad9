//! Operations on events.

use assisted_wire::event::{Event, EventCategory, EventList, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operation::OperationId;
use reqwest::header::HeaderMap;

use crate::{Client, Error};

/// Order of events by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Ascending,
    Descending,
}

/// Which events a list shows.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    pub cluster_id: Option<ClusterId>,
    pub infra_env_id: Option<InfraEnvId>,
    pub host_ids: Vec<HostId>,
    pub severities: Vec<EventSeverity>,
    pub categories: Vec<EventCategory>,
    /// Text that the message contains.
    pub message: Option<String>,
    /// Whether events of deleted hosts are shown.
    pub deleted_hosts: Option<bool>,
    /// Whether events of the cluster itself are shown.
    pub cluster_level: Option<bool>,
    pub order: Order,
    pub limit: Option<u64>,
    pub offset: Option<u64>,
}

/// A page of events, and how many there are without limit and offset.
#[derive(Clone, Debug, Default)]
pub struct EventPage {
    pub events: Vec<Event>,
    pub counts: EventCounts,
}

/// Numbers of events that pass the filter, from the answer's headers; 0 where the service sent none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    pub all: u64,
    pub info: u64,
    pub warning: u64,
    pub error: u64,
    pub critical: u64,
}

impl EventCounts {
    fn read(headers: &HeaderMap) -> Self {
        let count = |name: &str| {
            let text = headers.get(name).and_then(|value| value.to_str().ok());
            text.and_then(|text| text.parse().ok()).unwrap_or_default()
        };
        Self {
            all: count("event-count"),
            info: count("severity-count-info"),
            warning: count("severity-count-warning"),
            error: count("severity-count-error"),
            critical: count("severity-count-critical"),
        }
    }
}

impl Client {
    pub async fn list_events(&self, filter: &EventFilter) -> Result<EventPage, Error> {
        let (list, headers): (EventList, _) = self
            .call(OperationId::ListEvents)
            .query("cluster_id", filter.cluster_id)
            .query("infra_env_id", filter.infra_env_id)
            .query_list("host_ids", &filter.host_ids)
            .query_list("severities", &filter.severities)
            .query_list("categories", &filter.categories)
            .query("message", filter.message.as_ref())
            .query("deleted_hosts", filter.deleted_hosts)
            .query("cluster_level", filter.cluster_level)
            .query("order", (filter.order == Order::Descending).then_some("descending"))
            .query("limit", filter.limit)
            .query("offset", filter.offset)
            .send_with_headers()
            .await?;
        Ok(EventPage { events: list.0, counts: EventCounts::read(&headers) })
    }

    pub async fn trigger_event(&self, event: &Event) -> Result<(), Error> {
        self.call(OperationId::TriggerEvent).json(event).send_empty().await
    }
}
