//! Logs on standard error, as text for people or JSON for programs; spans go to whoever collects traces.

use anyhow::{Context, Result, anyhow};
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::traces;

/// Starts to log; `variable` is what sets the level.
pub(crate) fn start(variable: &str, level: &str, format: &str) -> Result<()> {
    start_with(variable, level, format, None)
}

/// The same, with spans for a collector, if there is one.
pub(crate) fn start_with(
    variable: &str,
    level: &str,
    format: &str,
    collector: Option<&SdkTracerProvider>,
) -> Result<()> {
    let level = self::level(level)
        .with_context(|| format!("{variable} {level:?} is not error, warn, info, debug or trace"))?;
    let Some(collector) = collector else {
        // Without filters of layers, which cost a little with each line.
        let logs = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
        let started = match format {
            "json" => logs.json().flatten_event(true).try_init(),
            "text" | "" => logs.with_ansi(is_terminal()).try_init(),
            other => return Err(unknown(other)),
        };
        return started.map_err(|error| anyhow!("can't log: {error}"));
    };
    let spans = tracing_opentelemetry::layer()
        .with_tracer(collector.tracer("assisted"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(Targets::new().with_target(traces::TARGET, LevelFilter::TRACE));
    let started =
        tracing_subscriber::registry().with(layer(format)?.with_filter(level)).with(spans).try_init();
    started.map_err(|error| anyhow!("can't log: {error}"))
}

fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(format: &str) -> Result<Box<dyn Layer<S> + Send + Sync>> {
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    Ok(match format {
        "json" => logs.json().flatten_event(true).boxed(),
        "text" | "" => logs.with_ansi(is_terminal()).boxed(),
        other => return Err(unknown(other)),
    })
}

fn is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}

fn unknown(format: &str) -> anyhow::Error {
    anyhow!("LOG_FORMAT {format:?} is not text or json")
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
