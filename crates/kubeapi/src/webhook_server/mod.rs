//! What every webhook here shares: the listener that API servers call, its certificate and who keeps it, what is spoken on it.
//!
//! Which questions are answered, and what makes an API server ask them, are two traits: [`listener::Answers`] and [`rotator::WebhookRegistration`].
//! [`crate::admission`] implements them for the hub's kinds, and the providers for Cluster API for theirs.

pub mod certificate;
pub mod listener;
pub mod profile;
pub mod review;
pub mod rotator;
pub mod target;
pub mod tls;
pub mod verdict;
