//! The installer on a host: what stands between the service's request and a machine that boots from its disk
//! (installer-and-controller §A).
//!
//! [`Installer`] goes the way of the host's role. The [`host`] is injectable: its files, and its programs, all of which are run
//! through [`assisted_base::process::Cmd`]. [`service`] is what it reports to and gets its files from, [`kube`] the cluster that forms.

mod attempts;
mod bootstrap;
mod config;
pub mod disk;
mod error;
mod finish;
mod flow;
pub mod host;
pub mod ignition;
pub mod kube;
mod layering;
#[cfg(test)]
#[path = "../../agent/tests/it/script.rs"]
mod script;
pub mod service;

pub use attempts::Exhausted;
pub use bootstrap::{AwaitNodesError, ControllerLogError, HostnameError, ManifestError, UnitError};
pub use config::{Config, DryRun, Intervals};
pub use error::InstallError;
pub use flow::Installer;
pub use host::Host;
pub use layering::LayeringFailure;

/// What servers are told about who asks.
pub(crate) const USER_AGENT: &str = concat!("assisted-installer/", env!("CARGO_PKG_VERSION"));
