//! What the replaced service has kept, taken over (running §8): its database is read as it stands, from one state of it, and its
//! files from their folder or bucket. Nothing is written there.
//!
//! Each infra-env, and each cluster with its hosts, reports and events, comes in one transaction. What is here already is left as
//! it is, so that an import that was ended goes on when it is run again, and one that is done changes nothing.

mod cluster;
mod error;
mod event;
mod files;
mod host;
mod import;
mod infra_env;
mod report;
mod row;

pub use error::Error;
pub use import::{Target, import};
pub use report::{Kind, KindCount, Left, Report};
