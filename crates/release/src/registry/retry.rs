//! How often a registry is asked again, and how long is waited before that.

use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};

use crate::error::RegistryError;

/// When what fails for the moment is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often one place is asked in all; at least once.
    pub attempts: u32,
    /// The first pause; each further one is twice as long.
    pub first: Duration,
    /// The longest pause. A registry that asks for a longer one is not waited for.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 5, first: Duration::from_millis(500), longest: Duration::from_secs(60) }
    }
}

impl Retry {
    /// Counts the attempts at one thing.
    pub(crate) fn tries(&self) -> Attempts<'_> {
        Attempts { retry: self, failed: 0 }
    }

    /// How long to wait after the `failed`-th failure, counted from 1; `None` when it was the last. `asked` is the pause that
    /// the registry asks for.
    fn pause(&self, failed: u32, asked: Option<Duration>) -> Option<Duration> {
        if failed >= self.attempts || asked.is_some_and(|asked| asked > self.longest) {
            return None;
        }
        let backoff = Backoff { first: self.first, longest: self.longest, jitter: Jitter::Half };
        Some(backoff.pause(failed).max(asked.unwrap_or_default()))
    }
}

/// The attempts at one thing.
#[derive(Debug)]
pub(crate) struct Attempts<'r> {
    retry: &'r Retry,
    failed: u32,
}

impl Attempts<'_> {
    /// Waits until it is time to try again; gives the problem back when trying again is of no use.
    pub(crate) async fn again(&mut self, error: RegistryError) -> Result<(), RegistryError> {
        if !error.is_passing() {
            return Err(error);
        }
        self.failed += 1;
        let asked = if let RegistryError::Throttled(asked) = error { asked } else { None };
        let Some(pause) = self.retry.pause(self.failed, asked) else { return Err(error) };
        tracing::debug!(%error, failed = self.failed, pause_ms = pause.as_millis(), "trying again");
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// Something was reached since the last failure: it may fail as often again.
    pub(super) fn went_on(&mut self) {
        self.failed = 0;
    }
}

/// The pause that an answer asks for: seconds, or a moment.
pub(super) fn retry_after(headers: &http::HeaderMap) -> Option<Duration> {
    let text = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = httpdate::parse_http_date(text).ok()?;
    Some(moment.duration_since(std::time::SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_grow_to_an_end() {
        let retry = Retry { attempts: 6, first: SECOND, longest: SECOND * 5 };
        for (failed, longest) in [(1, 1), (2, 2), (3, 4), (4, 5), (5, 5)] {
            let pause = retry.pause(failed, None).unwrap();
            assert!(pause <= SECOND * longest && pause * 2 >= SECOND * longest, "{failed}: {pause:?}");
        }
        assert_eq!(retry.pause(6, None), None);
    }

    #[test]
    fn the_registry_is_heard() {
        let retry = Retry { attempts: 3, first: SECOND, longest: SECOND * 60 };
        assert_eq!(retry.pause(1, Some(SECOND * 30)), Some(SECOND * 30));
        assert!(retry.pause(1, Some(Duration::ZERO)).unwrap() >= SECOND / 2);
        assert_eq!(retry.pause(1, Some(SECOND * 61)), None);
    }

    #[test]
    fn both_forms_of_the_header() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", text.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(of("7"), Some(SECOND * 7));
        assert_eq!(of("Thu, 01 Jan 1970 00:00:00 GMT"), Some(Duration::ZERO));
        assert!(of("Fri, 31 Dec 2100 00:00:00 GMT").unwrap() > SECOND * 1000);
        assert_eq!((of("soon"), of("-1"), retry_after(&HeaderMap::new())), (None, None, None));
    }
}
