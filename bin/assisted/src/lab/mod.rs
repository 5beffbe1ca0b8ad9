//! `assisted lab`: trying things out without machines, or with virtual ones.

mod image;
mod simulate;
mod table;

use clap::Subcommand;

use crate::cli::{Failure, Global};

/// What can be tried out.
#[derive(Subcommand, Debug)]
pub enum Command {
    Simulate(simulate::Simulate),
    #[command(subcommand)]
    Image(image::Command),
}

impl Command {
    /// Runs the command.
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        match self {
            Self::Simulate(simulate) => simulate.run(global).await,
            Self::Image(image) => tokio::task::block_in_place(|| image.run(global)),
        }
    }
}
