//! Step `install`: hands the host over to the installer (agent-protocol §2.4.9).
//!
//! The step lasts as long as the installer. It can come again with each poll meanwhile, and after a restart of the agent
//! too: what runs already is answered as a container's name that is taken, which the service knows and passes over.

mod arguments;
mod copy_network;
mod environment;
pub(crate) mod request;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_base::process::{Cmd, TOKEN_VARIABLE, Tools};
use assisted_wire::probe_requests::InstallCmdRequest;
use tracing::{info, warn};

use super::container_image_availability::is_here;
use super::{Guard, ended, only_arg};
use crate::config::Config;
use crate::reply::Outcome;
use environment::Environment;

pub(super) const CONTAINER: &str = "assisted-installer";
pub(super) const UNIT: &str = "assisted-installer.service";

/// Exit code and words for an installer that runs already (agent-protocol §2.3).
const RUNNING: i64 = 125;
const NAME_TAKEN: &str = "the container name \"assisted-installer\" is already in use";
/// Exit code where the installer's image is not to be had.
const NO_IMAGE: i64 = 2;
const PULLS: usize = 3;
const PULL_LIMIT: Duration = Duration::from_secs(600);
/// An installer writes for hours; how much of its output is reported, in bytes. Its log goes to the service by itself.
const LONGEST_OUTPUT: usize = 64 << 10;
/// The installer has its own limits for what it waits for.
pub(crate) const LIMIT: Duration = Duration::from_secs(7 * 24 * 3_600);

/// What runs the installer: a container of the image that the service names, or a program of the host.
#[derive(Clone, Debug, Default)]
pub enum Installer {
    /// The image that the service names, by podman.
    #[default]
    Container,
    /// A program that takes the installer's flags, as a transient unit of systemd: it lives on when the agent doesn't.
    Program(PathBuf),
}

pub(super) async fn run(
    args: &[String],
    tools: &Tools,
    service: Option<&Config>,
    agent_image: &str,
    installer: &Installer,
    runtime_dir: &Path,
    guard: &Guard,
) -> Outcome {
    let request: InstallCmdRequest = match only_arg("install", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    if let Err(fault) = request::check(&request) {
        return Outcome::failed(format!("install: {fault}"));
    }
    let Some(service) = service else {
        return Outcome::failed("install: this agent has no service that an installer could report to");
    };
    let Ok(_held) = guard.try_lock() else { return running() };
    let copy_network = copy_network::wanted();
    let flags = match arguments::flags(&request, service, agent_image, copy_network) {
        Ok(flags) => flags,
        Err(error) => return Outcome::failed(format!("install: installer_args: {error}")),
    };
    let mut environment = None;
    let cmd = match installer {
        Installer::Container => {
            if !pulled(&request.installer_image, tools).await {
                let error = format!("the installer's image {} can't be pulled", request.installer_image);
                return Outcome { exit_code: NO_IMAGE, ..Outcome::failed(error) };
            }
            container(&request.installer_image, tools, service).token(&service.token)
        }
        Installer::Program(program) => {
            if is_active(tools).await {
                return running();
            }
            let token = (TOKEN_VARIABLE, service.token.expose());
            let written = match Environment::write(runtime_dir, token) {
                Ok(written) => written,
                Err(error) => return Outcome::failed(format!("install: {}: {error}", runtime_dir.display())),
            };
            unit(program, environment.insert(written).path(), tools)
        }
    };
    info!(?installer, role = %request.role, boot_device = request.boot_device, "installation begins");
    let cmd = cmd.args(flags).timeout(LIMIT);
    let outcome = ended(cmd.output_limit(LONGEST_OUTPUT).cut_output().run().await);
    if let Some(environment) = environment {
        environment.remove();
    }
    outcome
}

fn running() -> Outcome {
    Outcome { exit_code: RUNNING, ..Outcome::failed(NAME_TAKEN) }
}

async fn pulled(image: &str, tools: &Tools) -> bool {
    if is_here(tools, image).await {
        return true;
    }
    for attempt in 1..=PULLS {
        match tools.cmd("podman").args(["pull", image]).timeout(PULL_LIMIT).run().await {
            Ok(done) if done.success() => return true,
            Ok(done) => {
                warn!(image, attempt, code = done.code(), error = done.complaint(), "image not pulled");
            }
            Err(error) => warn!(image, attempt, %error, "image not pulled"),
        }
    }
    false
}

fn container(image: &str, tools: &Tools, service: &Config) -> Cmd {
    let cmd = tools.cmd("podman").args(["run", "--privileged", "--pid=host", "--net=host"]);
    let mut cmd = cmd.arg(format!("--name={CONTAINER}")).args([
        "--volume=/dev:/dev:rw",
        "--volume=/opt:/opt:rw",
        "--volume=/var/log:/var/log:rw",
        "--volume=/run/systemd/journal/socket:/run/systemd/journal/socket",
        "--volume=/etc/pki:/etc/pki",
        "--volume=/tmp:/tmp",
        "--env=PULL_SECRET_TOKEN",
    ]);
    if let Some(path) = &service.ca_file {
        let path = path.display();
        cmd = cmd.arg(format!("--volume={path}:{path}:rw"));
    }
    cmd.arg(image)
}

/// `--wait` makes the step last as long as the unit, and end with its status; `--collect` forgets a failed one. An installer
/// that was killed is started again, and goes on; one that has reported why it failed isn't. A unit has nothing of this
/// process's environment but what it is given.
fn unit(program: &Path, environment: &Path, tools: &Tools) -> Cmd {
    let cmd = tools.cmd("systemd-run").arg(format!("--unit={UNIT}"));
    let cmd = cmd.args(["--wait", "--collect", "--quiet"]);
    let cmd = cmd.args(["--property=Restart=on-abnormal", "--property=RestartSec=5"]);
    cmd.arg(format!("--property=EnvironmentFile={}", environment.display())).arg("--").arg(program)
}

async fn is_active(tools: &Tools) -> bool {
    let asked = tools.cmd("systemctl").args(["is-active", "--quiet", UNIT]).run().await;
    asked.is_ok_and(|done| done.success())
}
