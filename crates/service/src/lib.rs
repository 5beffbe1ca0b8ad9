//! Use cases: the only place that puts core, store and blob together.
//!
//! [`Service`] has one method for each operation of the REST contract, named as the operation. Behind them stand the
//! scheduler, which refreshes what is due, and views in memory, from which polls are answered.

pub mod caller;
pub mod clock;
pub mod cluster;
pub mod error;
pub mod event;
pub mod host;
pub mod infra_env;
pub mod version;

pub use caller::{Caller, TokenResource};
pub use error::Error;

/// The use cases; a clone is another handle on the same service.
#[derive(Clone)]
pub struct Service {}
