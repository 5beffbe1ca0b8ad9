//! Work on other threads and in other tasks, whose panics are this program's: it ends loudly, and its unit starts it again.

use tokio::task::{JoinError, spawn_blocking};

/// Runs what blocks on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(failure) => {
            propagate(failure);
            // It was given up because the program ends, which ends the waiting too.
            std::future::pending().await
        }
    }
}

/// Panics as a task did that this one waited for.
pub(crate) fn propagate(failure: JoinError) {
    if let Ok(panic) = failure.try_into_panic() {
        std::panic::resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[should_panic(expected = "loud")]
    async fn a_panic_is_not_an_answer() {
        blocking(|| panic!("loud")).await;
    }

    #[tokio::test]
    async fn an_answer_comes_back() {
        assert_eq!(blocking(|| 7).await, 7);
    }
}
