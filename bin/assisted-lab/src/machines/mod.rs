//! Clusters on virtual machines, on namespaces of this computer, or on real machines.

mod image;
mod up;

use assisted_console::{Failure, Global};
use clap::Subcommand;

use crate::runtime;

/// What is done with machines.
#[derive(Subcommand)]
pub enum Command {
    #[command(subcommand)]
    Image(image::Command),
    Up(up::Up),
    Down(up::Down),
    Status(up::Status),
    Exec(up::Exec),
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// What it could not do.
    pub fn run(self, global: &Global) -> Result<(), Failure> {
        match self {
            Self::Image(image) => image.run(global),
            Self::Up(up) => runtime()?.block_on(up.run()),
            Self::Down(down) => down.run(),
            Self::Status(status) => status.run(global),
            Self::Exec(exec) => exec.run(),
        }
    }
}
