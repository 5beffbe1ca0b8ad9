//! Waiting: always with a limit, and every half minute a line that says what for, and where to look.

pub mod child;

use std::fmt::Display;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

/// Between two lines about the same wait.
const TELL: Duration = Duration::from_secs(30);

/// A wait that goes on.
#[derive(Debug)]
pub struct Wait {
    what: String,
    look: String,
    limit: Duration,
    began: Instant,
    /// How much of the time the last line told of.
    told: Duration,
    is_quiet: bool,
}

/// The limit of a wait has passed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} did not come within {} s; its traces are in {look}", limit.as_secs())]
pub struct Late {
    pub what: String,
    pub look: String,
    pub limit: Duration,
}

impl Wait {
    /// Waits for what is named, which is told in a file or folder where one may look.
    pub fn new(what: impl Display, look: impl Display, limit: Duration) -> Self {
        let (what, look) = (what.to_string(), look.to_string());
        Self { what, look, limit, began: Instant::now(), told: Duration::ZERO, is_quiet: false }
    }

    /// Tells nothing: what is waited for tells all the time how far it is, or draws on the screen.
    #[must_use]
    pub fn quietly(self) -> Self {
        Self { is_quiet: true, ..self }
    }

    /// Something else, or less, is waited for from now on, within the same time.
    pub fn is_for(&mut self, what: impl Display) {
        self.what = what.to_string();
    }

    /// To be called again and again: tells whoever watches, and fails once the time is up.
    ///
    /// # Errors
    /// When the time is up.
    pub fn go_on(&mut self) -> Result<(), Late> {
        if let Some(line) = self.due()? {
            // That nobody reads it is no failure. Standard error: what is awaited may be an answer on standard output.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        Ok(())
    }

    /// The line that is to be told now, if one is.
    ///
    /// # Errors
    /// When the time is up.
    pub fn due(&mut self) -> Result<Option<String>, Late> {
        self.after(self.began.elapsed())
    }

    /// Sleeps, no longer than there is time, and goes on.
    ///
    /// # Errors
    /// When the time is up.
    pub fn pause(&mut self, time: Duration) -> Result<(), Late> {
        thread::sleep(time.min(self.left()));
        self.go_on()
    }

    /// The time that is left until the limit.
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.began.elapsed())
    }

    /// The line that is due after this time, if one is.
    fn after(&mut self, elapsed: Duration) -> Result<Option<String>, Late> {
        let Self { what, look, limit, .. } = &*self;
        if elapsed >= *limit {
            return Err(Late { what: what.clone(), look: look.clone(), limit: *limit });
        }
        if self.is_quiet || elapsed < self.told + TELL {
            return Ok(None);
        }
        let (now, most) = (elapsed.as_secs(), limit.as_secs());
        let line = format!("waiting for {what} since {now} s, {most} s at most; its traces are in {look}");
        self.told = elapsed;
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_minute_is_told_until_the_time_is_up() {
        let mut wait = Wait::new("the service", "/x/service.log", Duration::from_secs(100));
        let mut told = Vec::new();
        let late = (0..).find_map(|second| match wait.after(Duration::from_secs(second)) {
            Ok(line) => {
                told.extend(line);
                None
            }
            Err(late) => Some(late),
        });
        assert_eq!(
            told,
            [30, 60, 90].map(|second| format!(
                "waiting for the service since {second} s, 100 s at most; its traces are in /x/service.log"
            ))
        );
        assert_eq!(
            late.unwrap().to_string(),
            "the service did not come within 100 s; its traces are in /x/service.log"
        );
    }

    #[test]
    fn what_tells_by_itself_is_told_only_when_it_is_late() {
        let mut wait = Wait::new("the screen", "/x", Duration::from_secs(100)).quietly();
        assert_eq!(wait.after(Duration::from_secs(99)), Ok(None));
        assert!(wait.after(Duration::from_secs(100)).is_err());
    }
}
