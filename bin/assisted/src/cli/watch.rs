//! Following an object: shows it whenever it changes, until interrupted or settled.

use std::time::Duration;

use super::Failure;
use super::output::line;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Prints what `look` gives, whenever it differs from what was shown last, until Ctrl-C.
pub async fn follow<F>(mut look: impl FnMut() -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<String, Failure>>,
{
    let mut shown = String::new();
    loop {
        let now = look().await?;
        if now != shown {
            line(&format!("--- {}\n{now}", jiff::Zoned::now().strftime("%H:%M:%S")))?;
            shown = now;
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
    }
}
