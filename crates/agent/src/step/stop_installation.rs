//! Step `stop-installation`: ends an installer that still runs (agent-protocol §2.4.14).

use assisted_base::process::Tools;

use super::install::{CONTAINER, Installer, UNIT};
use super::{abbreviated, ended};
use crate::reply::Outcome;

pub(super) async fn run(args: &[String], tools: &Tools, installer: &Installer) -> Outcome {
    if !args.is_empty() {
        return Outcome::failed(format!(
            "stop installation cmd accepts 0 params in args, given args {}",
            abbreviated(args)
        ));
    }
    let cmd = match installer {
        Installer::Container => tools.cmd("podman").args(["stop", "-i", "-t", "5", CONTAINER]),
        Installer::Program(_) => tools.cmd("systemctl").args(["stop", UNIT]),
    };
    ended(cmd.run().await)
}
