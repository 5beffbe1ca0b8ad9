//! What takes milliseconds of a processor does not run on the threads that serve requests.

use crate::Error;

/// To read so long a report, in bytes, takes milliseconds.
pub(crate) const LONG: usize = 256 * 1024;

/// To decide about reports of so many bytes takes milliseconds.
pub(crate) const LARGE: usize = 1024 * 1024;

/// Runs something on what it is given, which is given back with the outcome; where it takes long, on a thread of its own.
///
/// # Errors
///
/// It panicked there, or the runtime ends.
pub(crate) async fn off_thread_if<G: Send + 'static, O: Send + 'static>(
    takes_long: bool,
    mut given: G,
    run: impl FnOnce(&mut G) -> O + Send + 'static,
) -> Result<(G, O), Error> {
    if !takes_long {
        let outcome = run(&mut given);
        return Ok((given, outcome));
    }
    let task = tokio::task::spawn_blocking(move || {
        let outcome = run(&mut given);
        (given, outcome)
    });
    task.await.map_err(Error::internal)
}
