//! The image that a pool's image is built from, brought into the scratch's own storage (ocl-day1 §B5.2).

use std::time::Duration;

use assisted_base::process::Cmd;
use assisted_wire::on_cluster_layering::LayeringErrorCode;

use super::failure::is_refusal;
use super::machine::require_success;
use super::{Failed, Machine};
use crate::paths;

const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Podman with the scratch's storage, not the machine's own.
pub(crate) fn podman(machine: &Machine, limit: Duration) -> Cmd {
    let storage = machine.name(&format!("{}/storage", paths::SCRATCH));
    let run = machine.name("/run/ocl/storage");
    let cmd = machine.cmd(limit, "podman").args([
        "--root",
        &storage,
        "--runroot",
        &run,
        "--storage-driver",
        "overlay",
    ]);
    // What is unpacked on the way is large too, and must not go to memory.
    cmd.env("TMPDIR", machine.name(&format!("{}/tmp", paths::SCRATCH)))
}

/// Pulls it; it is nothing to do where it is there already.
pub(crate) async fn pull(machine: &Machine, image: &str, auth: &str) -> Result<(), Failed> {
    let done = podman(machine, LIMIT).args(["pull", "--quiet", "--authfile", auth, image]).run().await;
    require_success("podman", done).map(drop).map_err(|error| {
        let reason = format!("{image} can't be pulled: {error}");
        match is_refusal(&error) {
            // Whoever looks for the cause looks at this host, not at the network.
            _ if error.to_lowercase().contains("no space left") => {
                Failed::new(LayeringErrorCode::BuildInfra, reason)
            }
            true => Failed::for_good(LayeringErrorCode::Pull, reason),
            false => Failed::new(LayeringErrorCode::Pull, reason),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::tests::scripted;

    #[tokio::test]
    async fn what_keeps_a_base_image_away_says_whether_it_is_tried_again() {
        use LayeringErrorCode::{BuildInfra, Pull};
        for (said, code, retriable) in [
            ("Error: initializing source: dial tcp 10.0.0.1:443: connection reset by peer", Pull, true),
            ("Error: reading manifest: unexpected status from HEAD request: 401 Unauthorized", Pull, false),
            ("Error: writing blob: no space left on device", BuildInfra, true),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let machine = scripted(dir.path(), &format!("echo '{said}' >&2; exit 125"));
            let failed = pull(&machine, "quay.io/os@sha256:1", "/run/ocl/auth.json").await.unwrap_err();
            assert_eq!((failed.code, failed.retriable), (code, retriable), "{}", failed.reason);
            assert!(failed.reason.starts_with("quay.io/os@sha256:1 can't be pulled: "), "{}", failed.reason);
        }
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "");
        pull(&machine, "quay.io/os@sha256:1", "/run/ocl/auth.json").await.unwrap();
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        assert!(asked.contains(" pull --quiet --authfile /run/ocl/auth.json quay.io/os@sha256:1"), "{asked}");
    }
}
