//! The REST v2 contract as Rust types: definitions, ids, enumerations, and the table of operations.
//!
//! Rules of the wire that the types themselves hold:
//!
//! * An optional scalar that is not nullable is left out when it is empty, zero or false, and such a value is read
//!   when it is absent: absent and zero are the same thing to every client.
//! * A nullable scalar is an `Option`, left out when it is `None`.
//! * An optional list is an `Option<Vec<_>>`: `None` is written as `null`, as existing clients expect.
//! * A time that is not nullable is always written; [`time::DateTime::ZERO`] stands for "never".
//! * JSON that travels inside a string stays a string here; [`embedded`] reads and writes it.

pub mod action;
pub mod cluster;
mod cluster_options;
pub mod cluster_params;
pub mod embedded;
pub mod error;
pub mod event;
pub mod host;
pub mod host_params;
pub mod id;
pub mod identity;
pub mod image_state;
pub mod infra_env;
pub mod inventory;
pub mod lenient;
pub mod live;
mod logs;
pub mod machine;
pub mod manifest;
pub mod mirror_registry;
pub mod network;
mod null;
pub mod on_cluster_layering;
pub mod operation;
pub mod operator;
pub mod operator_assessment;
pub mod own_operators;
pub mod pattern;
pub mod platform;
pub mod probe_requests;
pub mod probe_responses;
pub mod rack;
pub mod requirements;
pub mod secret;
pub mod step;
pub mod support_level;
pub mod supported_features;
mod text;
pub mod time;
pub mod validation;
pub mod version;
pub mod work;

pub(crate) use text::text_enum;
