//! Taking the agent's program out of a container image, to go on as that program.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use assisted_base::process::{Cmd, CmdError, Tools};

/// Where images of agents have the program (agent-protocol §1.1).
const PROGRAM: &str = "/usr/bin/agent";
const CONTAINER: &str = "assisted-agent-upgrade";

/// Why there is no program to go on with.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    #[error(transparent)]
    Cmd(#[from] CmdError),
    #[error("podman {what}: exit code {code}: {text}")]
    Podman { what: &'static str, code: i32, text: String },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the program of {image} doesn't run: {text}")]
    Broken { image: String, text: String },
}

/// Puts the program of the agent in `image`, which is here, at `path`, after it has shown that it runs. Nothing of the
/// image is run in a container.
///
/// # Errors
/// When podman fails, the image has no such program, or the program doesn't run on this host.
pub async fn program_of(image: &str, path: &Path, tools: &Tools) -> Result<(), UpgradeError> {
    let podman = async |what: &'static str, args: &[&std::ffi::OsStr]| {
        let done = tools.cmd("podman").arg(what).args(args).run().await?;
        if done.success() {
            return Ok(());
        }
        Err(UpgradeError::Podman { what, code: done.code(), text: done.complaint() })
    };
    let new = path.with_extension("new");
    let words = |text: &str| std::ffi::OsString::from(text);
    // One that an interrupted upgrade left behind would be in the way.
    let _ = podman("rm", &[&words("--ignore"), &words(CONTAINER)]).await;
    podman("create", &[&words("--pull=never"), &words(&format!("--name={CONTAINER}")), &words(image)])
        .await?;
    let copied = podman("cp", &[&words(&format!("{CONTAINER}:{PROGRAM}")), new.as_os_str()]).await;
    podman("rm", &[&words(CONTAINER)]).await?;
    copied?;
    let fault = |source| UpgradeError::Io { path: new.clone(), source };
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).map_err(fault)?;
    let shown = Cmd::new(&new).arg("--help").run().await?;
    if !shown.success() {
        let _ = std::fs::remove_file(&new);
        return Err(UpgradeError::Broken { image: image.to_owned(), text: shown.complaint() });
    }
    std::fs::rename(&new, path).map_err(fault)
}
