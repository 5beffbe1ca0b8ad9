//! The specification of Ignition configs, as values.
//!
//! [`config`] has the types of the specification 3.2.0, [`merge`] lays one config over another, [`validate`] finds what
//! Ignition would refuse on the host, where nobody could help any more. [`excerpt`] is what is read of configs of whatever
//! version.

pub mod config;
pub mod excerpt;
mod members;
pub mod merge;
pub mod resource;
pub mod validate;

pub use config::Config;
pub use excerpt::Excerpt;
pub use merge::{MergeError, overlay};
