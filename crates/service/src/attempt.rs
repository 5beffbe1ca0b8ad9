//! The errors of one attempt at a use case, and how often an attempt is repeated.

use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_core::model::refusal::Refusal;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_store::{Subject, WriteError};

use crate::Error;

/// Why an attempt came to nothing.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// What it was decided on changed meanwhile: to be tried again.
    Conflict(Subject),
    /// A rule forbids it; the events are stored all the same.
    Rejected(RefusalWithEvents),
    Failed(Error),
}

impl From<Refusal> for AttemptError {
    fn from(refusal: Refusal) -> Self {
        Self::Rejected(refusal.into())
    }
}

impl From<RefusalWithEvents> for AttemptError {
    fn from(rejection: RefusalWithEvents) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<assisted_store::Error> for AttemptError {
    fn from(error: assisted_store::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<WriteError> for AttemptError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Conflict { what } => Self::Conflict(what),
            WriteError::Failed(error) => error.into(),
        }
    }
}

/// The error of an attempt that is not repeated. Where nothing was decided, only reading can have failed.
pub(crate) fn final_error(error: AttemptError) -> Error {
    match error {
        AttemptError::Failed(error) => error,
        AttemptError::Rejected(rejection) => rejection.refusal.into(),
        AttemptError::Conflict(what) => Error::internal(format!("{what} was changed by nobody")),
    }
}

/// Counts the attempts at a use case.
#[derive(Debug, Default)]
pub(crate) struct Retries(u32);

/// One writer always wins a conflict, so this many losses in a row mean that something is wrong.
const MOST: u32 = 50;

/// At random, so that two writers do not keep meeting.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(1), longest: Duration::from_millis(32), jitter: Jitter::Full };

impl Retries {
    /// Waits for the next try, longer each time.
    pub(crate) async fn again(&mut self, what: Subject) -> Result<(), Error> {
        self.0 += 1;
        if self.0 >= MOST {
            return Err(Error::internal(format!("{what} keeps changing under {MOST} attempts")));
        }
        tokio::time::sleep(BACKOFF.pause(self.0)).await;
        Ok(())
    }
}

/// Tries until there is no conflict: how that ended, otherwise than by a conflict.
macro_rules! retry_on_conflict {
    ($database:expr, $attempt:expr) => {{
        let mut tries = $crate::attempt::Retries::default();
        loop {
            match $attempt.await {
                Err($crate::attempt::AttemptError::Conflict(what)) => {
                    // If it was decided on what is cached, that is stale.
                    $database.cache().forget(what);
                    if let Err(error) = tries.again(what).await {
                        break Err($crate::attempt::AttemptError::Failed(error));
                    }
                }
                end => break end,
            }
        }
    }};
}

/// The same for a caller, who understands the end of it.
macro_rules! attempt {
    ($database:expr, $caller:expr, $attempt:expr) => {
        match $crate::attempt::retry_on_conflict!($database, $attempt) {
            Ok(done) => Ok(done),
            Err($crate::attempt::AttemptError::Rejected(rejection)) => {
                Err(Box::pin($database.reject(rejection, $caller)).await)
            }
            Err(error) => Err($crate::attempt::final_error(error)),
        }
    };
}

pub(crate) use {attempt, retry_on_conflict};
