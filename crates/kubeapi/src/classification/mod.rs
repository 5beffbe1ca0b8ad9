//! AgentClassifications: which Agents get their label (kube-api §6.8).

mod program;
mod queries;
mod query;

pub use program::serve;
pub use queries::Queries;
pub use query::{QueryError, check};
