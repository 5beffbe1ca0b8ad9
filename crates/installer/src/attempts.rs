//! Trying again what fails now and then (installer-and-controller §E20).

use std::fmt::Display;
use std::time::Duration;

use assisted_base::retry::{Attempts, Backoff};

use crate::config::Intervals;

/// Every attempt failed.
#[derive(Debug, thiserror::Error)]
#[error("failed after {attempts} attempts, last error: {last}")]
pub struct Exhausted<E: std::error::Error> {
    pub attempts: u32,
    pub last: E,
}

/// Tries up to `attempts` times, so many seconds apart; there is no pause after the last.
///
/// # Errors
/// When every attempt failed.
pub(crate) async fn attempts<T, E: std::error::Error + Display>(
    attempts: u32,
    pause: u64,
    intervals: Intervals,
    mut work: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, Exhausted<E>> {
    let backoff = Backoff::constant(intervals.of(Duration::from_secs(pause)));
    let mut left = Attempts::new(attempts, backoff);
    loop {
        match work().await {
            Ok(done) => return Ok(done),
            Err(error) => left.again(error).await.map_err(|last| Exhausted { attempts, last })?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::RunError;

    #[tokio::test]
    async fn the_last_error_is_told() {
        let mut tried = 0;
        let work = async || {
            tried += 1;
            let cause = tried.to_string();
            let [program, args, output] = ["x", "", ""].map(str::to_owned);
            Err::<(), _>(RunError { program, args, cause, output })
        };
        let error = attempts(3, 1, Intervals::faster(1_000), work).await.unwrap_err().to_string();
        assert!(error.starts_with("failed after 3 attempts, last error: failed executing x"), "{error}");
        assert_eq!(tried, 3);
    }
}
