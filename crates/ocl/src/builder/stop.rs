//! Ending a builder from outside: the installation was cancelled, or its host goes on without (ocl-day1 §B12).

use std::time::Duration;

use rustix::process::{Signal, kill_process};

use super::lock::{Lock, LockError};
use super::{Builder, Machine, Progress, StartError, Store, end, scratch};

/// How long a builder has to end its programs before it is killed.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(200);

impl Builder {
    /// The end of a run that was told to stop.
    ///
    /// # Errors
    /// When the state can't be kept.
    pub async fn cancelled(&self) -> Result<(), StartError> {
        let _lock = match Lock::take(&self.machine) {
            // Whoever has stopped it does the rest.
            Err(LockError::Taken) => return Ok(()),
            taken => taken?,
        };
        // It may have been told before it had written anything.
        let store =
            Store::open(&self.machine, self.pools().map(|pool| pool.name)).map_err(StartError::State)?;
        if end::ended(&self.machine, &store).await.map_err(StartError::State)?.is_none() {
            end::end(&self.machine, &store, &end::cancelled()).await.map_err(StartError::State)?;
        }
        Ok(())
    }
}

/// Ends the machine's builder if one runs, and gives its room back. Builds that are not done have failed then, also where none has begun:
/// a builder that is started later finds that it is not wanted.
///
/// # Errors
/// When the builder doesn't end, or its state can't be kept.
pub async fn stop(machine: &Machine) -> Result<(), StartError> {
    let ended = Progress::read(machine).map_err(StartError::State)?.and_then(|progress| progress.end());
    // What starts a builder again when this one has ended is held back before. Where all images are there, none builds any more.
    if let Err(failed) = ended.unwrap_or_else(|| Err(end::cancelled())) {
        end::hold_back(machine, &failed).map_err(StartError::State)?;
    }
    for signal in [Signal::TERM, Signal::KILL] {
        let Some(pid) = Lock::holder(machine)? else { break };
        tracing::info!(pid = pid.as_raw_pid(), ?signal, "ending the builder");
        // Fails when it has just ended by itself.
        let _ = kill_process(pid, signal);
        let ended = async {
            while matches!(Lock::holder(machine), Ok(Some(_))) {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, ended).await;
    }
    let _lock = take(machine).await?;
    if let Some(progress) = Progress::read(machine).map_err(StartError::State)?
        && progress.end().is_none()
    {
        let store = Store::open(machine, std::iter::empty()).map_err(StartError::State)?;
        end::end(machine, &store, &end::cancelled()).await.map_err(StartError::State)?;
    }
    scratch::remove(machine).await;
    Ok(())
}

/// The lock, once the builder has given it back for good: one that was told to end takes it again to keep that it was stopped.
async fn take(machine: &Machine) -> Result<Lock, LockError> {
    let taken = async {
        loop {
            match Lock::take(machine) {
                Err(LockError::Taken) => tokio::time::sleep(LOOK).await,
                other => return other,
            }
        }
    };
    tokio::time::timeout(PATIENCE, taken).await.unwrap_or(Err(LockError::Taken))
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;
    use assisted_wire::on_cluster_layering::{BuildState, LayeringErrorCode, Pool};

    use super::*;
    use crate::builder::tests::{builder, config, scripted};
    use crate::paths;

    #[tokio::test]
    async fn a_builder_that_keeps_its_end_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        let ends = Lock::take(&machine).unwrap();
        let mut waits = Box::pin(take(&machine));
        tokio::time::timeout(LOOK * 2, &mut waits).await.unwrap_err();
        drop(ends);
        waits.await.unwrap();
    }

    /// An installation may end before its hook has started a builder.
    #[tokio::test]
    async fn a_builder_that_is_started_later_is_not_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        let builder = builder(&machine, &config(2));
        stop(&machine).await.unwrap();
        assert_eq!(machine.read(paths::FAILED).unwrap(), b"cancelled: the build was stopped");
        assert!(Progress::read(&machine).unwrap().is_none());
        assert_eq!(builder.run().await.unwrap(), Err(end::cancelled()));
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        assert!(!asked.contains("podman run"), "{asked}");
        let builds = Progress::read(&machine).unwrap().unwrap().builds;
        let codes = builds.iter().map(|build| (build.pool, build.error.as_ref().unwrap().code));
        let cancelled = LayeringErrorCode::Cancelled;
        assert!(codes.eq([(Pool::Master, cancelled), (Pool::Worker, cancelled)]), "{builds:?}");
    }

    /// What is run by hand later must not take the end for one without any images.
    #[tokio::test]
    async fn a_builder_that_is_told_to_stop_at_once_keeps_which_images_there_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        let builder = builder(&machine, &config(2));
        builder.cancelled().await.unwrap();
        assert_eq!(Progress::read(&machine).unwrap().unwrap().builds.len(), 2);
        assert_eq!(builder.run().await.unwrap(), Err(end::cancelled()));
    }

    #[tokio::test]
    async fn images_that_are_there_stay() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        let builder = builder(&machine, &config(1));
        let store = Store::open(&machine, std::iter::once(Pool::Master)).unwrap();
        store.enter(&[Pool::Master], BuildState::Ready).unwrap();
        stop(&machine).await.unwrap();
        builder.cancelled().await.unwrap();
        assert!(!machine.exists(paths::FAILED));
        assert_eq!(builder.run().await.unwrap(), Ok(()));
    }
}
