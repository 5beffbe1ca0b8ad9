//! The agent on a host: registers it, asks the service what to do, does it, and reports (agent-protocol §1).
//!
//! [`Agent::run`] is the whole life of the process: registration, then polling until the service says otherwise, then
//! registration again. Steps run inside the process; [`Steps`] is the seam between the protocol and the machine, so
//! that a pretended host speaks the protocol exactly as a real one does.
//!
//! The service is not trusted: answers, numbers of instructions, pauses and outputs are bounded, arguments are parsed
//! strictly, and no text from it ever reaches a shell.

mod agent;
mod bmc;
mod config;
mod dry_run;
#[doc(hidden)]
pub mod fuzz;
mod host_key;
mod image;
mod instruction;
mod media;
mod poll;
mod register;
mod reply;
pub mod step;
mod task;
mod upgrade;

pub use agent::{Agent, End};
pub use config::{Config, Limits};
pub use dry_run::DryRun;
pub use instruction::Instruction;
pub use media::Media;
pub use reply::Outcome;
pub use step::{HostSteps, Installer, LogDirs, LogsRequest, Steps, gather_logs, inventory};
pub use upgrade::{UpgradeError, program_of};

/// The user agent of requests.
pub(crate) const USER_AGENT: &str = concat!("assisted-agent/", env!("CARGO_PKG_VERSION"));
