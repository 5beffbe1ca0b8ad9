//! The REST API over HTTP: routes, authorisation, request checks and documents, all made from the table of operations.
//!
//! What a request passes, from the outside in (service-api §1.2): document, request id, health, CORS, route,
//! authentication and scope, content type, parameters, body, use case.

pub mod auth;
mod budget;
mod check;
pub mod contract;
mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod help;
mod http;
pub mod identity;
pub mod openapi;
mod operation;
pub mod server;
mod timeouts;

pub use auth::AuthError;
pub use check::schema::SchemaError;
pub use operation::{Api, StartError, Ui};
pub use timeouts::Timeouts;
