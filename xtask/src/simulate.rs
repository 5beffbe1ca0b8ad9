//! A sweep of the service's simulation over many seeds: replicas on one database and one bucket, and a service on a disk that loses its
//! power. What a seed decides is told where it is read, in `crates/service/tests/it/simulation` and `bin/assisted/tests/it/crash/power.rs`.

use anyhow::{Result, bail};
use clap::Args;

use crate::test;

/// The variable that the sweep reads.
const VARIABLE: &str = "ASSISTED_SIMULATION_SEEDS";

#[derive(Args)]
pub struct Simulate {
    /// How many seeds; one takes about a minute
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// The first of them: with `--seeds 1` a seed that failed
    #[arg(long, default_value_t = 1)]
    from: u64,
}

impl Simulate {
    /// Sets up what the simulation needs, and runs it seed by seed; the first that fails ends it, with its plan.
    pub fn run(&self) -> Result<()> {
        let Some(last) = self.from.checked_add(self.seeds).and_then(|end| end.checked_sub(1)) else {
            bail!("there are no such seeds");
        };
        if self.seeds == 0 {
            bail!("no seeds, no simulation: --seeds takes a number from 1 on");
        }
        let seeds = format!("{}-{last}", self.from);
        let sweep = vec!["everything_of_a_sweep_of_seeds".to_owned()];
        let packages = ["assisted-service", "assisted"].map(str::to_owned);
        test::run(test::Test::with((VARIABLE, seeds), packages.into(), sweep))
    }
}
