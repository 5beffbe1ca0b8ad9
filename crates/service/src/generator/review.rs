//! Files that are generated to be looked at, or for one image: they must not stand in the way of installations.

use std::sync::Arc;

use assisted_core::model::refusal::{Refusal, RefusalKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Error;

/// How many may wait for their turn.
const WAITING: usize = 8;

/// One at a time is generated outside of an installation, so that each of these delays an installation by one run at most.
#[derive(Clone, Debug)]
pub(crate) struct ReviewTurns {
    places: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// A turn, for as long as it is kept.
#[derive(Debug)]
pub(crate) struct ReviewTurn {
    _place: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
}

impl Default for ReviewTurns {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(WAITING + 1)), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl ReviewTurns {
    /// Waits for a turn.
    ///
    /// # Errors
    ///
    /// 503 when too many wait already.
    pub(crate) async fn wait(&self) -> Result<ReviewTurn, Error> {
        let busy = || {
            Refusal::new(
                RefusalKind::Unavailable,
                "other files are generated, and as many wait as may: ask again in a few minutes",
            )
        };
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| busy())?;
        let turn = Arc::clone(&self.turn).acquire_owned().await.map_err(|_| busy())?;
        Ok(ReviewTurn { _place: place, _turn: turn })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_has_a_turn_some_wait_and_the_others_are_told() {
        let turns = ReviewTurns::default();
        let first = turns.wait().await.unwrap();
        let waiting: Vec<_> = (0..WAITING)
            .map(|_| {
                let turns = turns.clone();
                tokio::spawn(async move { turns.wait().await.map(drop) })
            })
            .collect();
        while turns.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(turns.wait().await.unwrap_err().kind(), RefusalKind::Unavailable);
        drop(first);
        for waits in waiting {
            waits.await.unwrap().unwrap();
        }
        turns.wait().await.unwrap();
    }
}
