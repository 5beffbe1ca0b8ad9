//! Clusters, infra-envs, hosts, reports, events and due work, in SQLite or PostgreSQL.
//!
//! Writes are values: a [`Batch`] is built without the database and applied atomically by [`Store::write`]; updates name
//! the [`Version`] they were decided on, so that no change is lost. Reads answer from the database alone and hold
//! nothing open; a [`Reader`] can do nothing else. An [`Observer`] is called with each commit, of this process or of another
//! replica, before the write returns: it invalidates caches. Work that is due ([`Due`]) stands in a table of its own, which
//! [`Store::take_due`] gives out under leases. So do the actions that the domain asks for ([`QueuedAction`]).
//! [`Reader::changes`], [`Reader::due_marks`] and [`Reader::action_marks`] publish what was written, by this process or by
//! another replica.
//!
//! The SQL is one text for both engines; where they differ, `engine` adapts it.

mod action;
mod batch;
mod change_feed;
mod check_in;
mod cluster;
mod copied;
pub mod copy;
mod due;
mod due_key;
mod engine;
mod error;
mod event;
mod foreign;
#[doc(hidden)]
pub mod fuzz;
mod host;
mod host_filter;
mod host_key;
mod infra_env;
mod object_filter;
mod observer;
mod options;
mod outbox;
mod recent_cache;
mod report;
mod report_hash;
mod retention;
mod row;
mod schema;
mod seal_rows;
mod service_secret;
mod slow;
mod statement;
mod store;
mod subject;
mod text_cache;
mod time;
mod unsealed;
mod upload;
mod user;
mod value;
mod work;

pub use action::QueuedAction;
pub use batch::Batch;
pub use cluster::{ClusterFilter, ClusterRow};
pub use due::{LeasedItem, MarkCount};
pub use due_key::{Due, Sink, Sweep};
pub use error::{Error, OpenError, UnlockError, WriteError};
pub use event::{EventOrder, EventPage, EventQuery, NewEvents};
pub use foreign::Foreign;
pub use host::{HostRow, HostWithInfraEnv};
pub use host_filter::{HostFilter, Reports};
pub use infra_env::InfraEnvFilter;
pub use observer::Observer;
pub use options::{Options, Tls};
pub use outbox::{NewMessage, OutboxLimits, OutboxMessage, OutboxState};
pub use recent_cache::RecentCache;
pub use report::Report;
pub use report_hash::ReportHash;
pub use row::{Deleted, Stored, Version};
pub use store::{Reader, Store};
pub use subject::{Change, Subject};
pub use user::{UserRow, UserStore, UserTokenRow};
pub use work::{WorkKey, WorkRow, WorkState};
