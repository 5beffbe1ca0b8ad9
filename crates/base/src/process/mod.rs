//! The one way to run another program: argument list, time limit, output limit.
//!
//! The program gets its own process group, nothing to read (but a [`Coprocess`], which is asked by lines), and no shell. When a limit is passed, or nobody waits any
//! more, the whole group is killed, children included. It inherits the environment unless it is told not to, but never the
//! token of this process.

mod cmd;
mod container;
mod coprocess;
mod output;
mod tools;

pub use cmd::Cmd;
pub use container::is_contained;
pub use coprocess::Coprocess;
pub use output::{CmdError, CmdOutput};
pub use tools::Tools;

/// Where agents, installers and controllers find their token; no program that they run is to find it too.
pub const TOKEN_VARIABLE: &str = "PULL_SECRET_TOKEN";
