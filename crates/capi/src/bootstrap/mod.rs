//! The bootstrap provider: OpenshiftAssistedConfigs (capi-providers §7, §8).
//!
//! A config belongs to a Machine. When the cluster's infrastructure is there, and no installation that it is no part of is under way,
//! the machine gets an infra-env and what it boots with, in a Secret that Cluster API hands to the infrastructure. The host that
//! registers from it gets the role and the settings of the machine, and is approved; no other host is.
//!
//! A machine boots either a disk image with the discovery's Ignition config as its user data, an infra-env for each machine; or the
//! discovery's live ISO, an infra-env for each Metal3MachineTemplate. What is decided stands in [`decide`] and [`status`], pure.

mod config;
mod decide;
mod hosts;
mod live_iso;
mod marks;
mod pass;
mod provider;
mod run;
mod status;

pub use run::run;
