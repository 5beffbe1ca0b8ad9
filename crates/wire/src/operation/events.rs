//! Operations on events.

use super::*;
use crate::event::{Event, EventList};

const EVENT_COUNTS: [&str; 5] = [
    "Severity-Count-Info",
    "Severity-Count-Warning",
    "Severity-Count-Error",
    "Severity-Count-Critical",
    "Event-Count",
];

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        id: OperationId::ListEvents,
        name: "v2ListEvents",
        method: Method::Get,
        path: "/v2/events",
        tags: &["events"],
        security: &[READER, URL, WATCHER],
        params: &[
            Param::query(name::CLUSTER_ID),
            Param::query(name::HOST_ID),
            Param::query(name::HOST_IDS).format("uuid"),
            Param::query(name::INFRA_ENV_ID),
            Param::query(name::LIMIT),
            Param::query(name::OFFSET),
            Param::query(name::ORDER).one_of(&["ascending", "descending"]).default("ascending"),
            Param::query(name::SEVERITIES).one_of(&["info", "warning", "error", "critical"]),
            Param::query(name::MESSAGE),
            Param::query(name::DELETED_HOSTS),
            Param::query(name::CLUSTER_LEVEL),
            Param::query(name::CATEGORIES),
        ],
        body: None,
        success: &[Success {
            status: 200,
            payload: Some(Payload::json::<EventList>()),
            headers: &EVENT_COUNTS,
        }],
        errors: &[401, 403, 404, 405, 500],
        deprecated: false,
        consumes: None,
        produces: None,
    },
    Operation {
        id: OperationId::TriggerEvent,
        name: "v2TriggerEvent",
        method: Method::Post,
        path: "/v2/events",
        tags: &["events"],
        security: &[AGENT],
        params: &[],
        body: Some(Body::required::<Event>("trigger-event-params")),
        success: &[Success::empty(201)],
        errors: &[400, 401, 403, 404, 405, 409, 500, 501, 503],
        deprecated: false,
        consumes: None,
        produces: None,
    },
];
