//! `assisted controller`: the Job in a new cluster. Its Job tells it everything by environment variables.

use std::fs::OpenOptions;
use std::io;

use anyhow::{Context, Result};
use assisted_controller::{Config, Paths};
use clap::Parser;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::writer::MakeWriterExt;

/// Finish an installation from inside the new cluster, as a Job in it
#[derive(Debug, Parser)]
pub(crate) struct Controller {}

impl Controller {
    /// Runs until the installation has ended. Only what a new start may mend is a failure: a Job starts anew then.
    pub(crate) fn run(&self) -> Result<()> {
        let paths = Paths::default();
        start_log(&paths)?;
        let config = Config::read(|name| std::env::var(name).ok(), paths)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().context("can't start")?;
        runtime.block_on(assisted_controller::run(&config))?;
        Ok(())
    }
}

/// Logs for the pod, and into a file for the service.
fn start_log(paths: &Paths) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(&paths.log);
    let file = file.with_context(|| format!("can't log to {}", paths.log.display()))?;
    let logs = tracing_subscriber::fmt().with_ansi(false).with_max_level(LevelFilter::INFO);
    let started = logs.with_writer(io::stdout.and(file)).try_init();
    started.map_err(|error| anyhow::anyhow!("can't log: {error}"))
}
