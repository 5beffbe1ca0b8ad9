//! Laying the system beside the one that runs, on the disk that the machine was booted from (installer-and-controller
//! §A11). Each step may be done again.

use std::time::Duration;

use super::values;
use crate::host::{FileError, Host, RunError};

/// A system's image is pulled and unpacked.
const DEPLOY: Duration = Duration::from_secs(2 * 3_600);
const STEP: Duration = Duration::from_secs(15 * 60);

const NODE_IMAGE: &str = "/ostree/repo/refs/heads/coreos/node-image";
/// What the new system is called among those on the disk.
const STATE_ROOT: &str = "install";
const PROFILES: &str = "/etc/NetworkManager/system-connections/";
const FIRST_BOOT_NETWORK: &str = "/boot/coreos-firstboot-network";

/// Why the system isn't laid.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// Deploys `image` so that it is what the machine starts next, and applies `ignition` then.
///
/// # Errors
/// When a program fails.
pub async fn deploy_beside(
    image: &str,
    ignition: &str,
    args: &[String],
    host: &Host,
) -> Result<(), DeployError> {
    for point in ["/sysroot", "/boot"] {
        host.run("mount", &[point, "-o", "remount,rw"]).await?;
    }
    if host.exists(NODE_IMAGE) {
        host.run("ostree", &["refs", "--repo", "/ostree/repo", "--delete", "coreos/node-image"]).await?;
        host.run("touch", &["/ostree/repo/tmp/node-image"]).await?;
    }
    if !host.exists(&format!("/ostree/deploy/{STATE_ROOT}")) {
        host.run_for(STEP, "ostree", &["admin", "stateroot-init", STATE_ROOT]).await?;
    }
    let deploy = ["container", "image", "deploy", "--stateroot", STATE_ROOT, "--sysroot", "/"];
    let with = ["--authfile", "/root/.docker/config.json", "--karg", "$ignition_firstboot"];
    let what = ["--karg", "ignition.platform.id=metal", "--image", image];
    host.run_for(DEPLOY, "ostree", &[&deploy[..], &with, &what].concat()).await?;
    host.run_for(STEP, "ostree", &["admin", "finalize-staged"]).await?;
    let kargs = kernel_arguments(args);
    if !kargs.is_empty() {
        let edit = ["kargs", "--os", STATE_ROOT];
        host.run_for(STEP, "rpm-ostree", &[&edit[..], &kargs].concat()).await?;
        host.run_for(STEP, "ostree", &["admin", "finalize-staged"]).await?;
    }
    if args.iter().any(|arg| arg == "--copy-network" || arg == "-n") {
        host.run("mkdir", &["-p", FIRST_BOOT_NETWORK]).await?;
        host.run("rsync", &["-av", PROFILES, &format!("{FIRST_BOOT_NETWORK}/")]).await?;
    }
    host.run("mkdir", &["-p", "/boot/ignition"]).await?;
    host.run("cp", &[ignition, "/boot/ignition/config.ign"]).await?;
    host.run("touch", &["/boot/ignition.firstboot"]).await?;
    Ok(())
}

/// Kernel arguments in the words of the tool that edits those of a system that is there, in their order.
fn kernel_arguments(args: &[String]) -> Vec<&str> {
    let words = args.iter().zip(args.iter().skip(1)).filter_map(|(name, value)| match name.as_str() {
        "--append-karg" => Some(["--append", value]),
        "--delete-karg" => Some(["--delete-if-present", value]),
        _ => None,
    });
    words.flatten().collect()
}

/// Kernel arguments to add, for those who know no other.
pub(super) fn appended(args: &[String]) -> Vec<String> {
    values(args, "--append-karg").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_arguments_keep_their_order() {
        let args =
            ["--append-karg", "a=1", "-n", "--delete-karg", "b", "--append-karg", "c", "--append-karg"];
        let args = args.map(str::to_owned);
        assert_eq!(kernel_arguments(&args), ["--append", "a=1", "--delete-if-present", "b", "--append", "c"]);
        assert_eq!(appended(&args), ["a=1", "c"]);
        assert!(kernel_arguments(&["--copy-network".to_owned()]).is_empty());
    }
}
