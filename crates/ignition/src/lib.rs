//! The Ignition configs of an installation, as values.
//!
//! [`discovery`] is the config that a discovery image carries, [`ironic`] what metal3 needs besides. [`install`] edits what the
//! installer program makes. What the specification says about configs stands in `assisted_ignition_spec`.

pub mod discovery;
pub mod install;
pub mod ironic;
mod systemd;
