//! Where a process can be made to die, so that tests can judge what it leaves behind.
//!
//! [`passed`] is called whenever something has come to last: a file, a transaction. In builds for development the
//! environment variable [`VARIABLE`] counts these steps down, and ends the process right after the last of them, before
//! anybody is told. Other builds know nothing of it.

/// After so many steps the process ends; unset: never. A number alone counts all steps, one with a text (`1 put`) those
/// whose description holds it.
pub const VARIABLE: &str = "ASSISTED_DIE_AFTER";

/// A step has come to last; `describe` tells which, for whoever wants to know where the process has ended.
#[cfg(debug_assertions)]
pub fn passed(describe: impl FnOnce() -> String) {
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static LEFT: LazyLock<Option<(AtomicU64, String)>> = LazyLock::new(|| {
        let value = std::env::var(VARIABLE).ok()?;
        let (count, what) = value.split_once(' ').unwrap_or((&value, ""));
        Some((AtomicU64::new(count.parse().ok()?), what.to_owned()))
    });
    let Some((left, what)) = &*LEFT else { return };
    let step = describe();
    if step.contains(what.as_str()) && left.fetch_sub(1, Ordering::Relaxed) == 1 {
        // Past the log, of which something may be buffered.
        let _ = writeln!(std::io::stderr(), "died after: {step}");
        std::process::abort();
    }
}

/// A step has come to last.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn passed(_: impl FnOnce() -> String) {}
