//! What takes milliseconds of a processor does not run on the threads that serve requests: a report that is judged, a body of many
//! megabytes that is read, an answer of as many that is written or compressed. It runs on threads that come after those wherever both want
//! a processor.

use std::sync::{Arc, LazyLock};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use assisted_core::model::refusal::{Refusal, RefusalKind};
use rustix::process::setpriority_process;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::Error;

/// To read, write or compress a text of so many bytes takes milliseconds.
pub const LONG: usize = 256 * 1024;

/// To decide about reports of so many bytes takes milliseconds.
pub(crate) const LARGE: usize = 1024 * 1024;

/// How long one waits for its turn. Whoever asked can ask again, and the scheduler does.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much later than others the threads get a processor that both want: these get about a tenth of it.
const NICENESS: i32 = 10;

/// Half as many at a time as there are processors, so that whoever serves, and a database beside it, finds one.
static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(most())));

fn most() -> usize {
    available_parallelism().map_or(1, |all| (all.get() / 2).max(1))
}

/// Runs something on a thread of its own. It keeps its place there until it ends, also when nobody waits for it any more.
///
/// # Errors
///
/// It did not get its turn in time, it panicked there, or the runtime ends.
pub async fn off_thread<O: Send + 'static>(run: impl FnOnce() -> O + Send + 'static) -> Result<O, Error> {
    off_thread_boxed(Box::new(run)).await
}

/// The same of what is in a box, which may be large, and is kept while it waits. A task is much code: like this it is compiled for each type
/// of outcome, and not for each answer that is written.
async fn off_thread_boxed<O: Send + 'static>(run: Box<dyn FnOnce() -> O + Send>) -> Result<O, Error> {
    let place = place(&PLACES, PATIENCE).await?;
    let (sender, outcome) = oneshot::channel();
    // A thread of its own for each, which costs nothing beside what it is for: one may become nicer, and not less nice again.
    let begin = thread::Builder::new().name("off-thread".to_owned());
    let begun = begin.spawn(move || {
        let _place = place;
        // Where that is not allowed, it is done all the same.
        let _ = setpriority_process(None, NICENESS);
        // Nobody may wait for it any more.
        let _ = sender.send(run());
    });
    begun.map_err(Error::internal)?;
    outcome.await.map_err(|_| Error::internal("a thread panicked"))
}

/// Runs something on what it is given, which is given back with the outcome; where it takes long, as [`off_thread`] does.
///
/// # Errors
///
/// The same.
pub(crate) async fn off_thread_if<G: Send + 'static, O: Send + 'static>(
    takes_long: bool,
    mut given: G,
    run: impl FnOnce(&mut G) -> O + Send + 'static,
) -> Result<(G, O), Error> {
    if !takes_long {
        let outcome = run(&mut given);
        return Ok((given, outcome));
    }
    let run = move || {
        let outcome = run(&mut given);
        (given, outcome)
    };
    off_thread_boxed(Box::new(run)).await
}

/// Waits for a place.
async fn place(places: &Arc<Semaphore>, patience: Duration) -> Result<OwnedSemaphorePermit, Error> {
    match timeout(patience, Arc::clone(places).acquire_owned()).await {
        Ok(place) => place.map_err(Error::internal),
        Err(_) => {
            tracing::warn!(?patience, "something large is refused: others are before it");
            let reason = "The service is busy with large requests of others just now. Try again in a moment";
            Err(Refusal::new(RefusalKind::Unavailable, reason).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn others_go_on_meanwhile() {
        let (sender, receiver) = mpsc::channel();
        // On the only thread of this runtime: it gets its turn while the other one works, or never.
        let other = tokio::spawn(async move { sender.send("done").unwrap() });
        let heard = off_thread(move || receiver.recv_timeout(LIMIT)).await.unwrap();
        assert_eq!(heard, Ok("done"));
        other.await.unwrap();
    }

    #[tokio::test]
    async fn others_are_served_meanwhile() {
        let (sender, receiver) = mpsc::channel();
        // On the only thread of this runtime: it gets its turn while the long one runs, or never.
        let other = tokio::spawn(async move {
            let (given, outcome) = off_thread_if(false, 1_u32, |given| *given + 1).await.unwrap();
            sender.send((given, outcome)).unwrap();
        });
        let long = off_thread_if(true, receiver, |receiver| receiver.recv_timeout(LIMIT));
        assert_eq!(long.await.unwrap().1, Ok((1, 2)));
        other.await.unwrap();
    }

    #[tokio::test]
    async fn no_more_run_at_a_time_than_half_the_processors() {
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let runs = (0..4 * most()).map(|_| {
            tokio::spawn(off_thread_if(true, Arc::clone(&counts), |counts| {
                let running = counts.0.fetch_add(1, Ordering::SeqCst) + 1;
                counts.1.fetch_max(running, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(20));
                counts.0.fetch_sub(1, Ordering::SeqCst);
            }))
        });
        for run in runs.collect::<Vec<_>>() {
            run.await.unwrap().unwrap();
        }
        let at_a_time = counts.1.load(Ordering::SeqCst);
        assert!((1..=most()).contains(&at_a_time), "{at_a_time}");
    }

    #[tokio::test]
    async fn who_waits_too_long_is_told_to_come_back() {
        let places = Arc::new(Semaphore::new(1));
        let taken = place(&places, LIMIT).await.unwrap();
        let refused = place(&places, Duration::from_millis(1)).await.unwrap_err();
        assert_eq!(refused.kind(), RefusalKind::Unavailable);
        drop(taken);
        assert!(place(&places, LIMIT).await.is_ok());
    }

    #[tokio::test]
    async fn one_that_panics_gives_its_place_back() {
        for _ in 0..2 * most() {
            let run = timeout(LIMIT, off_thread_if::<(), ()>(true, (), |()| panic!("it breaks")));
            assert_eq!(run.await.unwrap().unwrap_err().kind(), RefusalKind::Internal);
        }
    }
}
