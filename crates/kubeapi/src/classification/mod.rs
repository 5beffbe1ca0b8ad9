//! AgentClassifications: which Agents get their label (kube-api §6.8).

mod queries;
mod query;

pub use queries::Queries;
pub use query::{Query, QueryError};
