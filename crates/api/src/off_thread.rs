//! What takes milliseconds of a processor does not run on the threads that serve requests: a body of many megabytes that is read, an
//! answer of as many that is written or compressed.

use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::error::ApiError;

/// From this length on, in bytes, JSON takes milliseconds.
pub(crate) const LONG: usize = 256 * 1024;

/// As many at a time as there are processors: the threads that serve then get half of each.
static PLACES: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(available_parallelism().map_or(2, usize::from))));

/// Runs something on a thread of its own. It keeps its place until it ends, also when nobody waits for it any more.
pub(crate) async fn off_thread<O: Send + 'static>(
    run: impl FnOnce() -> O + Send + 'static,
) -> Result<O, ApiError> {
    off_thread_boxed(Box::new(run)).await
}

/// The same of what is in a box: a task is much code, which is compiled for each type of outcome, and not for each answer that is written.
async fn off_thread_boxed<O: Send + 'static>(run: Box<dyn FnOnce() -> O + Send>) -> Result<O, ApiError> {
    let place = Arc::clone(&PLACES).acquire_owned().await.map_err(|error| ApiError::internal(&error))?;
    let ran = spawn_blocking(move || {
        let _place = place;
        run()
    });
    ran.await.map_err(|error| ApiError::internal(&error))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn others_go_on_meanwhile() {
        let (sender, receiver) = mpsc::channel();
        // On the only thread of this runtime: it gets its turn while the other one works, or never.
        let other = tokio::spawn(async move { sender.send("done").unwrap() });
        let heard = off_thread(move || receiver.recv_timeout(Duration::from_secs(60))).await.unwrap();
        assert_eq!(heard, Ok("done"));
        other.await.unwrap();
    }
}
