//! A refusal that leaves a trace: the events are stored although nothing else is.

use crate::model::event::NewEvent;
use crate::model::refusal::Refusal;

/// Why a request on a host is refused, and the events that are emitted for it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{refusal}")]
pub struct RefusalWithEvents {
    pub refusal: Refusal,
    /// Events to store all the same.
    pub events: Vec<NewEvent>,
}

impl RefusalWithEvents {
    /// A refusal for which an event is emitted.
    pub fn with_event(refusal: Refusal, event: NewEvent) -> Self {
        Self { refusal, events: vec![event] }
    }
}

impl From<Refusal> for RefusalWithEvents {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, events: Vec::new() }
    }
}
