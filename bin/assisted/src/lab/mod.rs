//! `assisted lab`: trying things out without machines.

mod simulate;
mod table;

use clap::Subcommand;

use crate::cli::{Failure, Global};

/// What can be tried out.
#[derive(Subcommand, Debug)]
pub enum Command {
    Simulate(simulate::Simulate),
}

impl Command {
    /// Runs the command against the service.
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        match self {
            Self::Simulate(simulate) => simulate.run(global).await,
        }
    }
}
