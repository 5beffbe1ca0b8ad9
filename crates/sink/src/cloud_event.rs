//! A message as a CloudEvent (version 1.0), structured as JSON.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::message::Message;

/// The media type of the form.
pub(crate) const CONTENT_TYPE: &str = "application/cloudevents+json; charset=utf-8";
/// What types of events begin with.
const TYPES: &str = "assisted.v1.";

#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: String,
    source: &'a str,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    time: String,
    datacontenttype: &'static str,
    data: &'a RawValue,
}

/// The event of a message; `source` is the service.
pub(crate) fn render(message: &Message, source: &str) -> Result<Vec<u8>, serde_json::Error> {
    let event = CloudEvent {
        specversion: "1.0",
        id: message.id.to_string(),
        source,
        r#type: format!("{TYPES}{}", message.kind),
        subject: message.key.map(|key| format!("clusters/{key}")),
        time: message.at.to_string(),
        datacontenttype: "application/json",
        data: serde_json::from_str(&message.body)?,
    };
    serde_json::to_vec(&event)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn it_has_all_that_is_required() {
        let message = Message {
            id: Uuid::from_u128(1),
            kind: "ClusterState".to_owned(),
            key: Some(Uuid::from_u128(2)),
            at: "2026-01-02T03:04:05.678Z".parse().unwrap(),
            body: r#"{"id":"x"}"#.to_owned(),
        };
        let event: Value =
            serde_json::from_slice(&render(&message, "https://assisted.example").unwrap()).unwrap();
        assert_eq!(
            event,
            json!({
                "specversion": "1.0",
                "id": "00000000-0000-0000-0000-000000000001",
                "source": "https://assisted.example",
                "type": "assisted.v1.ClusterState",
                "subject": "clusters/00000000-0000-0000-0000-000000000002",
                "time": "2026-01-02T03:04:05.678Z",
                "datacontenttype": "application/json",
                "data": {"id": "x"},
            })
        );
    }
}
