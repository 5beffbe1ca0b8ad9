//! AgentClassifications: which Agents get their label (kube-api §6.8).

mod query;

pub use query::{Query, QueryError};
