//! Benchmarks: each prints its figures beside the goals of docs/architecture.md. They need a machine that is otherwise quiet.

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::run::{cargo, step};
use crate::setup;

#[derive(Args)]
pub struct Bench {
    /// What to measure
    name: Name,
    /// Seconds for each measurement
    #[arg(long, default_value_t = 10)]
    seconds: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Polls, reports, registrations and standing cost of the service; the agent's inventory
    Discovery,
}

impl Bench {
    /// Builds the programs as users run them, and measures.
    pub fn run(&self) -> Result<()> {
        setup::run()?;
        step("build", &mut cargo(&["build", "--release", "--package", "assisted"]))?;
        step("build for hosts", &mut cargo(&["build", "--profile", "host", "--package", "assisted-host"]))?;
        let Name::Discovery = self.name;
        step(
            "discovery",
            cargo(&["bench", "--quiet", "--package", "assisted-simhost", "--bench", "discovery", "--"])
                .arg(self.seconds.to_string()),
        )
    }
}
