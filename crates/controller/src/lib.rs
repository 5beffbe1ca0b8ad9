//! The controller: a Job in the cluster that forms. It takes nodes in, follows the operators, reports to the service,
//! collects logs, and ends when the service says that the installation has ended.
//!
//! All state lives in the service and in the cluster, so it may be killed and started again at any time. It is one future
//! of cooperating loops: whoever drops it has stopped everything.
//!
//! Neither side is trusted blindly: requests for certificates are held against the inventory, and what comes from the
//! service reaches no shell.

mod abi;
mod cluster;
mod config;
mod context;
mod csr;
mod dns;
mod error;
mod finish;
mod intervals;
mod labels;
mod layering;
mod logs;
mod metal;
mod node;
mod oc;
mod ready;
mod run;
mod service;
mod wait;
mod work;

pub use config::{Config, ConfigError, Paths};
pub use context::Exit;
pub use error::Error;
pub use intervals::Intervals;
pub use run::run;

/// What servers are told about who asks.
pub(crate) const USER_AGENT: &str = concat!("assisted-controller/", env!("CARGO_PKG_VERSION"));
