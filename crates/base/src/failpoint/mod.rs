//! Where a process can be made to die, and a piece of work to fail, so that tests can judge what they leave behind.
//!
//! [`passed`] is called whenever something has come to last: a file, a transaction. In builds for development two environment
//! variables speak of these steps: [`KINDS`] writes down which kinds of them there are, and [`DIE_AFTER`] ends the process right
//! after one of them, before anybody is answered.
//!
//! [`begin`] and [`Step::end`] stand around what is done as a whole or fails. Where a test has a script for the work that is done
//! [`within`] a name, a step of it fails before anything is done, or after all of it is. Other builds know nothing of both.

#[cfg(debug_assertions)]
mod script;

use std::io;

#[cfg(debug_assertions)]
pub use script::{Fault, Moment, Script, StepName};

/// `N` or `N KIND|KIND…`: the process ends after so many steps, all of them counted or those of these kinds. Unset: it never
/// does.
pub const DIE_AFTER: &str = "ASSISTED_DIE_AFTER";

/// A file to which each kind of steps is added, one a line, when it is seen for the first time in the life of a process.
pub const KINDS: &str = "ASSISTED_STEP_KINDS";

/// What the last line begins with that a process prints which ends so; the kind of the step follows.
pub const DIED: &str = "died after: ";

/// A step has come to last; `describe` says what was done in it, from which ids and numbers are taken to get its kinds:
/// `put 5f0c…/host-12.log` is of the kind `put */host-#.log`.
#[cfg(debug_assertions)]
pub fn passed(describe: impl FnOnce() -> Vec<String>) {
    imp::passed(describe);
}

/// A step has come to last.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn passed(_: impl FnOnce() -> Vec<String>) {}

/// A step that has begun.
#[derive(Debug)]
#[must_use]
pub struct Step(#[cfg(debug_assertions)] Option<script::Begun>);

/// A step begins; `describe` says what is done in it, as for [`passed`].
///
/// # Errors
///
/// A test lets it fail.
#[cfg(debug_assertions)]
pub fn begin(describe: impl FnOnce() -> String) -> io::Result<Step> {
    script::begin(describe).map(Step)
}

/// A step begins.
///
/// # Errors
///
/// None.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn begin(_: impl FnOnce() -> String) -> io::Result<Step> {
    Ok(Step())
}

impl Step {
    /// All of it is done.
    ///
    /// # Errors
    ///
    /// A test lets it fail.
    #[cfg(debug_assertions)]
    pub fn end(self) -> io::Result<()> {
        self.0.map_or(Ok(()), script::Begun::end)
    }

    /// All of it is done.
    ///
    /// # Errors
    ///
    /// None.
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub fn end(self) -> io::Result<()> {
        Ok(())
    }
}

/// Does work under a name by which a test can have a script for it; each call is an attempt.
#[cfg(debug_assertions)]
pub async fn within<F: Future>(name: impl FnOnce() -> String, work: F) -> F::Output {
    script::within(name(), work).await
}

/// Does work.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub async fn within<F: Future>(_: impl FnOnce() -> String, work: F) -> F::Output {
    work.await
}

#[cfg(debug_assertions)]
mod imp {
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::io::Write;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{LazyLock, Mutex, PoisonError};

    use super::{DIE_AFTER, DIED, KINDS};

    /// The death that is due: after so many steps, of all kinds or of some.
    struct Crash {
        left: AtomicU64,
        kinds: Option<BTreeSet<String>>,
    }

    static CRASH: LazyLock<Option<Crash>> = LazyLock::new(|| {
        let value = std::env::var(DIE_AFTER).ok()?;
        let (count, kinds) =
            value.split_once(' ').map_or((&*value, None), |(count, kinds)| (count, Some(kinds)));
        let kinds = kinds.map(|kinds| kinds.split('|').map(ToOwned::to_owned).collect());
        Some(Crash { left: AtomicU64::new(count.parse().ok()?), kinds })
    });

    /// The file of kinds, and those that are in it.
    struct SeenKinds {
        file: File,
        kinds: BTreeSet<String>,
    }

    static SEEN: LazyLock<Option<Mutex<SeenKinds>>> = LazyLock::new(|| {
        let path = std::env::var_os(KINDS)?;
        let file = File::options().create(true).append(true).open(path).ok()?;
        Some(Mutex::new(SeenKinds { file, kinds: BTreeSet::new() }))
    });

    pub(super) fn passed(describe: impl FnOnce() -> Vec<String>) {
        if CRASH.is_none() && SEEN.is_none() {
            return;
        }
        let kinds: BTreeSet<String> = describe().iter().map(|deed| kind(deed)).collect();
        if let Some(seen) = &*SEEN {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            for kind in &kinds {
                if seen.kinds.insert(kind.clone()) {
                    // Whoever reads the file misses what could not be written.
                    let _ = writeln!(seen.file, "{kind}");
                }
            }
        }
        let Some(death) = &*CRASH else { return };
        let counts = |kind: &&String| death.kinds.as_ref().is_none_or(|kinds| kinds.contains(*kind));
        let Some(kind) = kinds.iter().find(counts) else { return };
        if death.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Past the log, of which something may be buffered.
            let _ = writeln!(std::io::stderr(), "{DIED}{kind}");
            std::process::abort();
        }
    }

    /// What is done, without ids (`*`) and numbers (`#`).
    pub(super) fn kind(deed: &str) -> String {
        let mut kind = String::with_capacity(deed.len());
        let mut rest = deed;
        while let Some(next) = rest.chars().next() {
            let digits = rest.len() - rest.trim_start_matches(|next: char| next.is_ascii_digit()).len();
            let (sign, length) = match (rest.get(..36), rest.get(..32)) {
                (Some(id), _) if is_id(id) => ('*', 36),
                (_, Some(id)) if id.bytes().all(|byte| byte.is_ascii_hexdigit()) => ('*', 32),
                _ if digits > 0 => ('#', digits),
                _ => (next, next.len_utf8()),
            };
            kind.push(sign);
            rest = &rest[length..];
        }
        kind
    }

    fn is_id(text: &str) -> bool {
        text.bytes().zip(0..).all(|(byte, place)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn kinds_have_no_ids_and_no_numbers() {
            let id = "5f0cbb7e-91f4-4d4e-9a1b-0123456789ab";
            assert_eq!(kind(&format!("put {id}/logs/{id}/host-12.tar.gz")), "put */logs/*/host-#.tar.gz");
            let folder = id.replace('-', "");
            assert_eq!(kind(&format!("put {id}/generated/{folder}/m.ign")), "put */generated/*/m.ign");
            assert_eq!(kind("update hosts"), "update hosts");
            assert_eq!(kind(&format!("{id}é5f0cbb7e-91f4")), "*é#f#cbb#e-#f#");
            assert_eq!(kind(""), "");
        }
    }
}
