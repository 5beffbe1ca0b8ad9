//! Ignition configs, as values.
//!
//! [`config`] has the types of the specification 3.2.0, [`merge`] lays one config over another, [`validate`] finds what
//! Ignition would refuse on the host, where nobody could help any more. [`discovery`] is the config that a discovery image
//! carries. [`install`] edits what the installer program makes.

pub mod config;
pub mod discovery;
pub mod install;
pub mod merge;
pub mod resource;
pub mod validate;

pub use config::Config;
pub use merge::{MergeError, overlay};
