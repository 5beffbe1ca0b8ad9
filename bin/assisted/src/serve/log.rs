//! Logs on standard error, as text for people or JSON for programs.

use anyhow::{Result, anyhow, bail};
use assisted_core::settings::Settings;
use tracing_subscriber::EnvFilter;

/// Starts to log as the settings say.
pub(super) fn start(settings: &Settings) -> Result<()> {
    let filter: EnvFilter = settings.http.log_level.parse().map_err(|_| {
        anyhow!("LOG_LEVEL {:?} is not error, warn, info, debug or trace", settings.http.log_level)
    })?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match settings.http.log_format.as_str() {
        "json" => logs.json().flatten_event(true).try_init(),
        "text" | "" => logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        other => bail!("LOG_FORMAT {other:?} is not text or json"),
    };
    started.map_err(|error| anyhow!("can't log: {error}"))
}
