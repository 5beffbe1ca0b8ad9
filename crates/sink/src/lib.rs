//! Where messages go out: a topic of Kafka, and an HTTP server that takes CloudEvents.
//!
//! A sink takes messages in order and says what became of each: taken, refused, or still to be sent, because nobody answers. It
//! keeps nothing: whoever has the messages sends again what was not taken, under the same id, so that a receiver can tell what
//! it has seen. Messages of one key go out in their order, those of several keys at the same time.

mod cloud_event;
mod kafka;
mod message;
mod partition;
mod signature;
mod tls;
mod webhook;

pub use kafka::{Kafka, KafkaLogin, KafkaSettings, Mechanism};
pub use message::{Delivery, Failed, Message, SetupError};
pub use signature::KEY_PREFIX;
pub use webhook::{Webhook, WebhookSettings};
