//! `assisted lab`: trying things out without machines, or with virtual ones.

mod image;
mod simulate;
mod table;
mod up;

use clap::Subcommand;

use crate::cli::{Failure, Global};

/// What can be tried out.
#[derive(Subcommand, Debug)]
pub enum Command {
    Simulate(simulate::Simulate),
    #[command(subcommand)]
    Image(image::Command),
    Up(up::Up),
    Down(up::Down),
    Status(up::Status),
    Exec(up::Exec),
}

impl Command {
    /// Runs the command.
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        match self {
            Self::Simulate(simulate) => simulate.run(global).await,
            Self::Image(image) => tokio::task::block_in_place(|| image.run(global)),
            Self::Up(up) => up.run().await,
            Self::Down(down) => tokio::task::block_in_place(|| down.run()),
            Self::Status(status) => status.run(global),
            Self::Exec(exec) => exec.run(),
        }
    }
}
