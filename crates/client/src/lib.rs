//! Typed client of the REST v2 API, for agents, installers, controllers and command lines alike.
//!
//! Method, path, accepted credentials and expected statuses of a request come from the table of operations in
//! [`assisted_wire::operation`]; [`Client::call`] makes a request for any row of it, and the methods below
//! `operation/` are thin names over that for what is used every day.
//!
//! The client never trusts the other side: answers are bounded, redirects are not followed (a credential must not
//! travel to another address), and an error keeps the status and the decoded body of the refusal.

mod base_url;
mod build_error;
mod builder;
mod call;
mod error;
mod form;
#[doc(hidden)]
pub mod fuzz;
mod identity;
mod logins;
mod operation;
mod private_file;
mod retry;
mod watch;

pub use base_url::BaseUrl;
pub use build_error::BuildError;
pub use builder::{Client, ClientBuilder};
pub use call::{Call, Download};
pub use error::{Error, ErrorBody, ErrorResponse, Failure};
pub use identity::DeviceAnswer;
pub use logins::{Logins, StoredToken};
pub use operation::clusters::ClusterFilter;
pub use operation::events::{EventCounts, EventFilter, EventPage, Order};
pub use operation::hosts::ClusterHostFilter;
pub use operation::infra_envs::{InfraEnvFile, InfraEnvFilter};
pub use operation::versions::{SupportFilter, VersionFilter};
pub use private_file::{PrivateFile, PrivateFileError};
pub use retry::RetryPolicy;
pub use watch::{Change, Changes};
