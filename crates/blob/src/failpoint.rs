//! Where a process can be made to die, so that tests can judge what it leaves behind.
//!
//! [`passed`] is called whenever something has come to last: a file, a transaction. In builds for development the
//! environment variable [`VARIABLE`] counts these steps down, and ends the process right after the last of them, before
//! anybody is told. Other builds know nothing of it.

/// After so many steps the process ends; unset: never.
pub const VARIABLE: &str = "ASSISTED_DIE_AFTER";

/// A step has come to last; `describe` tells which, for whoever wants to know where the process has ended.
#[cfg(debug_assertions)]
pub fn passed(describe: impl FnOnce() -> String) {
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static LEFT: LazyLock<Option<AtomicU64>> =
        LazyLock::new(|| std::env::var(VARIABLE).ok()?.parse().ok().map(AtomicU64::new));
    if let Some(left) = &*LEFT
        && left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        // Past the log, of which something may be buffered.
        let _ = writeln!(std::io::stderr(), "died after: {}", describe());
        std::process::abort();
    }
}

/// A step has come to last.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn passed(_: impl FnOnce() -> String) {}
