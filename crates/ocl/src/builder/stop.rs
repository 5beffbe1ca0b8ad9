//! Ending a builder from outside: the installation was cancelled, or its host goes on without (ocl-day1 §B12).

use std::time::Duration;

use assisted_wire::on_cluster_layering::LayeringErrorCode;
use rustix::process::{Signal, kill_process};

use super::lock::Lock;
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
    let _lock = Lock::take(machine)?;
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
