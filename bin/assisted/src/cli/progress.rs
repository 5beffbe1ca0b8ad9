//! Progress on the terminal: on standard error, and nowhere else than on a terminal.

use std::borrow::Cow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Between two turns of what shows that something goes on.
const TURN: Duration = Duration::from_millis(120);

/// A bar for bytes that are fetched; without a known length it counts them.
pub fn download(length: Option<u64>) -> ProgressBar {
    match length {
        Some(length) => ProgressBar::new(length)
            .with_style(style("{bar:40} {bytes}/{total_bytes} {binary_bytes_per_sec}, {eta} left {msg}")),
        None => ProgressBar::no_length().with_style(style("{spinner} {bytes} {binary_bytes_per_sec} {msg}")),
    }
}

/// That something is waited for, and for how long already.
pub fn waiting() -> ProgressBar {
    let bar = ProgressBar::no_length().with_style(style("{spinner} {elapsed} {msg}"));
    bar.enable_steady_tick(TURN);
    bar
}

/// A bar for so many things that are looked at.
pub fn count(all: usize) -> ProgressBar {
    let bar = ProgressBar::new(all.try_into().unwrap_or(u64::MAX))
        .with_style(style("{bar:40} {pos} of {len} {elapsed} {msg}"));
    // It stands there before the first thing is looked at, however quick that is.
    bar.tick();
    bar.enable_steady_tick(TURN);
    bar
}

/// Shows that something goes on for as long as it does, and what that is.
pub async fn during<T>(what: impl Into<Cow<'static, str>>, work: impl Future<Output = T>) -> T {
    let bar = waiting();
    bar.set_message(what);
    let done = work.await;
    bar.finish_and_clear();
    done
}

/// A bar for what is done to a hundredth part at a time.
pub fn percent() -> ProgressBar {
    let bar = ProgressBar::new(100).with_style(style("{bar:40} {percent:>3} % {elapsed} {msg}"));
    bar.enable_steady_tick(TURN);
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
