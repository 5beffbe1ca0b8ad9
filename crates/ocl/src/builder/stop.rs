//! Ending a builder from outside: the installation was cancelled, or its host goes on without (ocl-day1 §B12).

use std::time::Duration;

use assisted_wire::on_cluster_layering::LayeringErrorCode;
use rustix::process::{Signal, kill_process};

use super::lock::{Lock, LockError};
use super::{Failed, Machine, Progress, StartError, Store, scratch};

/// How long a builder has to end its programs before it is killed.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(200);

/// Ends the machine's builder if one runs, and gives its room back. Builds that are not done have failed then.
///
/// # Errors
/// When the builder doesn't end, or its state can't be kept.
pub async fn stop(machine: &Machine) -> Result<(), StartError> {
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
        let cancelled = Failed::for_good(LayeringErrorCode::Cancelled, "the build was stopped");
        super::flow::end(machine, &store, &cancelled).await.map_err(StartError::State)?;
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

    use super::*;

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
}
