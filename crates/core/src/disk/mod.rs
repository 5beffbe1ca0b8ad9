//! Disks of a host: which ones can be installed on.

mod eligibility;

pub(crate) use eligibility::paths;
pub use eligibility::{Policy, annotate, annotate_with};
