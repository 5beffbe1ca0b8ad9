//! Features: on what each is supported, which exclude each other, which are in use (service-api §10.5, Appendix B).

mod bundles;
pub mod levels;
pub mod query;
pub mod rule;
mod rules;
pub mod usage;

pub use bundles::bundles;
pub use levels::level;
pub use query::{FeatureQuery, QueryError, architectures, detailed, features};
pub use rule::{Support, Target};
