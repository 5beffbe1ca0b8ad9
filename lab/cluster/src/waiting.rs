//! What has to wait is told when that begins, now and then while it lasts, and when it ends: it may be tried often, and for minutes.

use std::time::{Duration, Instant};

use anyhow::Result;
use tracing::{info, warn};

/// Between two lines on what still lasts.
const REPEAT: Duration = Duration::from_secs(30);

/// Something that is tried again and again.
pub struct Waiting {
    what: &'static str,
    /// Since when it fails, and when that was told last.
    since: Option<(Instant, Instant)>,
}

/// What a line tells, and how long it has lasted.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Begins,
    Lasts(Duration),
    Ended(Duration),
}

impl Waiting {
    pub fn new(what: &'static str) -> Self {
        Self { what, since: None }
    }

    /// Tells how an attempt went, where that is worth a line.
    pub fn tell(&mut self, outcome: Result<()>) {
        let line = self.line(outcome.is_err(), Instant::now());
        let error = outcome.err().map(|error| format!("{error:#}")).unwrap_or_default();
        let what = self.what;
        match line {
            None => {}
            Some(Line::Begins) => warn!(error, "{what} have to wait"),
            Some(Line::Lasts(time)) => warn!(error, seconds = time.as_secs(), "{what} still have to wait"),
            Some(Line::Ended(time)) => info!(seconds = time.as_secs(), "{what} have waited"),
        }
    }

    fn line(&mut self, fails: bool, now: Instant) -> Option<Line> {
        let (since, line) = match (self.since, fails) {
            (None, false) => (None, None),
            (None, true) => (Some((now, now)), Some(Line::Begins)),
            (Some((begun, told)), true) if now.duration_since(told) >= REPEAT => {
                (Some((begun, now)), Some(Line::Lasts(now.duration_since(begun))))
            }
            (since, true) => (since, None),
            (Some((begun, _)), false) => (None, Some(Line::Ended(now.duration_since(begun)))),
        };
        self.since = since;
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_told_every_half_minute() {
        let (begin, seconds) = (Instant::now(), Duration::from_secs);
        let mut waiting = Waiting::new("requests");
        let mut told = |fails, after| waiting.line(fails, begin + seconds(after));
        assert_eq!(told(false, 0), None);
        assert_eq!(told(true, 1), Some(Line::Begins));
        assert_eq!(told(true, 30), None);
        assert_eq!(told(true, 31), Some(Line::Lasts(seconds(30))));
        assert_eq!(told(true, 60), None);
        assert_eq!(told(true, 70), Some(Line::Lasts(seconds(69))));
        assert_eq!(told(false, 71), Some(Line::Ended(seconds(70))));
        assert_eq!(told(false, 72), None);
        assert_eq!(told(true, 73), Some(Line::Begins));
    }
}
