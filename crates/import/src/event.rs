//! Reads rows of events of the replaced service.

use assisted_wire::event::Event;

use crate::row::Row;

pub(crate) fn read(mut row: Row) -> Result<Event, String> {
    // Ids of requests are not always of this form, and an event is one without it.
    if row.parsed::<uuid::Uuid>("request_id").is_none() {
        row.take("request_id");
    }
    row.or("message", "").or("event_time", "");
    row.read()
}
