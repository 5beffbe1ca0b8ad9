//! Use cases: the only place that puts core, store, blob and release together.
//!
//! [`Service`] has a room for each kind of resource, such as [`Clusters`], with one method for each operation of the REST
//! contract. All rooms share one handle on the store and on the cache from which polls are answered. Background tasks, which
//! [`Builder::start`] starts, stand apart: the scheduler refreshes what is due, the worker does what the domain asks for
//! outside, and the publisher sends changes to watchers.

pub mod access;
mod accounts;
mod action;
mod attempt;
mod available_versions;
mod cache;
pub mod catalogue;
pub mod clock;
pub mod cluster;
mod database;
mod dns;
pub mod error;
pub mod event;
mod event_limit;
mod outbox_relay;

pub mod file;
#[doc(hidden)]
pub mod fuzz;
pub mod generator;
pub mod host;
mod housekeeping;
pub mod infra_env;
mod keyed_mutex;
pub mod machine;
mod mark_watch;
pub mod metrics;
mod not_found;
pub mod object;
pub mod off_thread;
mod owner;
mod pace;
mod parts;
pub mod policy;
mod registries_conf;
mod retention;
mod scheduler;
mod service;
mod signature;
pub mod start;
mod stored_file;
mod stream;
mod unit_of_work;
mod upload;
mod view;
pub mod work;

pub use access::{Access, ResourceOwner, Signer};
pub use assisted_auth::{Caller, Grant, TokenResource};
pub use catalogue::Catalogue;
pub use clock::Clock;
pub use cluster::Clusters;
pub use error::Error;
pub use event::Events;
pub use file::Files;
pub use host::Hosts;
pub use infra_env::InfraEnvs;
pub use machine::Machines;
pub use metrics::Metrics;
pub use service::Service;
pub use start::{Background, Builder, StartError};
pub use work::Work;
