//! Features: on what each is supported, which exclude each other, which are in use (service-api §10.5, Appendix B).

pub mod active;
mod bundles;
pub mod compatibility;
mod operator_rules;
pub mod query;
pub mod rule;
mod rules;
pub mod usage;

pub use active::Configuration;
pub use bundles::bundles;
pub use query::{FeatureQuery, QueryError, architectures, detailed, features};
pub use rule::{Judgement, Target, level};
