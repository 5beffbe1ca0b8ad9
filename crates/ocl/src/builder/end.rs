//! How a build ends that can't come to its aim: what follows a failure, also where whoever kept it was killed in between, or where no
//! builder had begun (ocl-day1 §B12).

use std::io;

use assisted_wire::on_cluster_layering::LayeringErrorCode;

use super::{Failed, Machine, Store, bundle, scratch};
use crate::paths;

/// The failure of a build that somebody has stopped.
pub(super) fn cancelled() -> Failed {
    Failed::for_good(LayeringErrorCode::Cancelled, "the build was stopped")
}

/// Holds the temporary control plane back, and with it each further builder.
pub(super) fn hold_back(machine: &Machine, failed: &Failed) -> io::Result<()> {
    machine.write(paths::FAILED, 0o600, failed.to_string())
}

/// Whether the temporary control plane is held back.
pub(super) fn is_held_back(machine: &Machine) -> bool {
    machine.exists(paths::FAILED)
}

/// Keeps a failure, and does what follows it.
pub(super) async fn end(machine: &Machine, store: &Store, failed: &Failed) -> io::Result<()> {
    tracing::error!(error = %failed, "the build has failed");
    store.fail(failed)?;
    follow(machine, failed).await
}

/// Holds the temporary control plane back, gathers what tells of the failure, and gives the room back. The file that holds back comes
/// first: whatever follows may be cut off.
async fn follow(machine: &Machine, failed: &Failed) -> io::Result<()> {
    hold_back(machine, failed)?;
    if let Err(error) = bundle::write(machine).await {
        tracing::warn!(%error, "the logs of the build are not gathered");
    }
    scratch::remove(machine).await;
    Ok(())
}

/// How the builds have ended, if they have. Whoever kept a failure may have been killed since: what was to follow it is made up for.
pub(super) async fn ended(machine: &Machine, store: &Store) -> io::Result<Option<Result<(), Failed>>> {
    let end = store.get().end();
    match &end {
        // Logs are gathered once: what they are made of goes with the room.
        Some(Err(_)) if is_held_back(machine) => scratch::remove(machine).await,
        Some(Err(failed)) => follow(machine, failed).await?,
        Some(Ok(())) | None => {}
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use assisted_wire::on_cluster_layering::Pool;

    use super::*;
    use crate::builder::tests::{builder, config, scripted};

    #[tokio::test]
    async fn what_a_killed_builder_owed_to_its_failure_is_made_up_for() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        let builder = builder(&machine, &config(1));
        let failed = Failed::for_good(LayeringErrorCode::BuildUser, "exit status 1");
        let store = Store::open(&machine, std::iter::once(Pool::Master)).unwrap();
        store.fail(&failed).unwrap();
        for held_back in [false, true] {
            assert_eq!(machine.exists(bundle::DIR), held_back);
            assert_eq!(is_held_back(&machine), held_back);
            assert_eq!(builder.run().await.unwrap(), Err(failed.clone()));
            assert_eq!(machine.read(paths::FAILED).unwrap(), failed.to_string().as_bytes());
            let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
            assert!(asked.contains("podman rm --force --ignore --time=5 ocl-registry\n"), "{asked}");
            assert!(!asked.contains("podman run"), "{asked}");
            // The next time finds the room that a builder had left when it was killed later.
            std::fs::remove_file(dir.path().join("asked")).unwrap();
        }
    }
}
