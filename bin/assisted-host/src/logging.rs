//! Where log records go: the journal, a file, standard error; standard output is the installer's alone (agent-protocol
//! §1.3).

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::Context;
use clap::ArgAction;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::truth;
use crate::journal::Journal;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Log to the system's journal; where there is none, to standard error
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "true", default_missing_value = "true")]
    with_journal_logging: bool,
    /// Log to /var/log/<name>.log
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    with_text_logging: bool,
    /// Log to standard error
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    with_stdout_logging: bool,
}

/// Where records go.
#[derive(Debug, Default)]
pub(crate) struct Sinks {
    pub(crate) journal: bool,
    pub(crate) file: Option<PathBuf>,
    /// Standard output; standard error takes what has no other place.
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) verbose: bool,
}

/// Starts logging for a part called `name`; `dry_id` is the id of a pretended host.
pub(crate) fn start(args: &Args, name: &str, dry_id: &str) -> anyhow::Result<()> {
    let sinks = Sinks {
        journal: args.with_journal_logging,
        file: args.with_text_logging.then(|| format!("/var/log/{name}.log").into()),
        stderr: args.with_stdout_logging,
        ..Sinks::default()
    };
    begin(&sinks, "agent", dry_id)
}

/// Starts logging; `tag` is what records in the journal are found by.
pub(crate) fn begin(sinks: &Sinks, tag: &'static str, dry_id: &str) -> anyhow::Result<()> {
    let journal = if sinks.journal { Journal::open(tag, dry_id) } else { None };
    let file = match &sinks.file {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            Some(file.with_context(|| format!("can't log to {}", path.display()))?)
        }
        None => None,
    };
    let to_stderr = sinks.stderr || (journal.is_none() && file.is_none() && !sinks.stdout);
    let file =
        file.map(|file| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(file)));
    let stdout = sinks.stdout.then(|| tracing_subscriber::fmt::layer().with_ansi(false));
    let stderr =
        to_stderr.then(|| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(std::io::stderr));
    tracing_subscriber::registry()
        .with(if sinks.verbose { LevelFilter::DEBUG } else { LevelFilter::INFO })
        .with(journal)
        .with(file)
        .with(stdout)
        .with(stderr)
        .try_init()
        .context("can't start logging")
}
