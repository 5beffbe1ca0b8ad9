//! Following an object: shows it whenever it changes, until interrupted.

use std::time::Duration;

use super::common::Context;
use assisted_console::Failure;
use assisted_console::colour::painted;
use assisted_console::output::{Format, line_if_read};

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Prints what `look` gives, whenever it differs from what was shown last, until Ctrl-C, or until nobody reads it.
pub async fn follow<F>(context: &Context, mut look: impl FnMut() -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<String, Failure>>,
{
    let mut shown = String::new();
    each_look(&mut look, |now| {
        if now == shown {
            return Ok(true);
        }
        let read = match context.format {
            Format::Table => {
                line_if_read(&painted(&format!("--- {}\n{now}", jiff::Zoned::now().strftime("%H:%M:%S"))))
            }
            Format::Json => line_if_read(&now),
            Format::Yaml => line_if_read(&format!("---\n{now}")),
        };
        shown = now;
        read
    })
    .await
}

/// Looks again and again, and hands over what it sees, until Ctrl-C, or until `show` says that nobody reads it. A service
/// that went away after the first look is waited for.
pub async fn each_look<T, F>(
    look: &mut impl FnMut() -> F,
    mut show: impl FnMut(T) -> Result<bool, Failure>,
) -> Result<(), Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut seen = false;
    let mut told = false;
    loop {
        match look().await {
            Ok(now) => {
                (seen, told) = (true, false);
                if !show(now)? {
                    return Ok(());
                }
            }
            Err(Failure::Unreachable(text)) if seen => {
                if !told {
                    report(&text);
                }
                told = true;
            }
            Err(failure) => return Err(failure),
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
    }
}

/// On standard error, which a script that reads the answers does not see.
pub fn report(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "assisted: {text}\nwaiting for the service");
}
