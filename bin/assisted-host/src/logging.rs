//! Where log records go: the journal, a file, standard error; never standard output (agent-protocol §1.3).

use std::fs::OpenOptions;
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

/// Starts logging for a part called `name`; `dry_id` is the id of a pretended host.
pub(crate) fn start(args: &Args, name: &str, dry_id: &str) -> anyhow::Result<()> {
    let journal = if args.with_journal_logging { Journal::open(dry_id) } else { None };
    let file = if args.with_text_logging {
        let path = format!("/var/log/{name}.log");
        let file = OpenOptions::new().create(true).append(true).open(&path);
        Some(file.with_context(|| format!("can't log to {path}"))?)
    } else {
        None
    };
    let to_stderr = args.with_stdout_logging || (journal.is_none() && file.is_none());
    let file =
        file.map(|file| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(file)));
    let stderr =
        to_stderr.then(|| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(std::io::stderr));
    tracing_subscriber::registry()
        .with(LevelFilter::INFO)
        .with(journal)
        .with(file)
        .with(stderr)
        .try_init()
        .context("can't start logging")
}
