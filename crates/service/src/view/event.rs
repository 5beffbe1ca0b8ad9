//! An event as the API shows it.

use assisted_wire::event::Event;

/// An event as clients see it.
pub(crate) fn render_event(mut event: Event) -> Event {
    (event.category, event.request_id) = (None, None);
    event
}
