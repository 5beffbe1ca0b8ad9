//! Logs on standard error, as text for people or JSON for programs.

use anyhow::{Context, Result, anyhow, bail};
use tracing_subscriber::filter::LevelFilter;

/// Starts to log; `variable` is what sets the level.
pub(crate) fn start(variable: &str, level: &str, format: &str) -> Result<()> {
    let level = self::level(level)
        .with_context(|| format!("{variable} {level:?} is not error, warn, info, debug or trace"))?;
    let logs = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    let started = match format {
        "json" => logs.json().flatten_event(true).try_init(),
        "text" | "" => logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        other => bail!("LOG_FORMAT {other:?} is not text or json"),
    };
    started.map_err(|error| anyhow!("can't log: {error}"))
}

/// The level of a name, or of a name by which other services call it.
fn level(name: &str) -> Option<LevelFilter> {
    Some(match name.to_ascii_lowercase().as_str() {
        "panic" | "fatal" | "error" => LevelFilter::ERROR,
        "warning" | "warn" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => return None,
    })
}
