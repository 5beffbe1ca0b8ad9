//! The steps, one file each: arguments in, an [`Outcome`] out.

pub(crate) mod api_vip_connectivity_check;
mod boot_artifacts;
mod connectivity_check;
mod container_image_availability;
mod dhcp_lease_allocate;
mod domain_resolution;
mod free_network_addresses;
pub(crate) mod install;
pub(crate) mod installation_disk_speed_check;
mod inventory;
mod logs_gather;
mod ntp_synchronizer;
mod stop_installation;
mod tang_connectivity_check;
mod upgrade_agent;
mod verify_vips;

use std::fmt::Write;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use assisted_base::process::{CmdError, CmdOutput, Tools};
use assisted_hostinfo::Root;
use assisted_wire::id::HostId;
use assisted_wire::machine::Machine;
use assisted_wire::step::StepType;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::config::Config;
use crate::dry_run::DryRun;
use crate::instruction::Instruction;
use crate::reply::Outcome;
use crate::task::blocking;

pub use install::Installer;
pub use inventory::inventory;
pub use logs_gather::{LogDirs, LogsRequest, gather_logs};
pub(crate) use upgrade_agent::upgraded_to;

/// Longest text of arguments that an error repeats, in characters.
const SHOWN_ARGS: usize = 1_000;

/// Lets one step of a kind run at a time: polls don't wait for steps, so the same one comes again meanwhile.
type Guard = Arc<Mutex<()>>;

/// What a host can do: the seam between the protocol and the machine.
pub trait Steps: Send + Sync + 'static {
    /// Who the host is; asked for at each registration, since hardware may have been swapped.
    fn host_id(&self) -> impl Future<Output = HostId> + Send;

    /// What the machine is recognised by; `None`: it has nothing of the kind.
    fn machine(&self) -> impl Future<Output = Option<Machine>> + Send {
        async { None }
    }

    /// Does one step. Limits on time and output are the caller's.
    fn run(&self, instruction: &Instruction) -> impl Future<Output = Outcome> + Send;

    /// Learns by which image the service knows this agent from now on.
    fn registered(&self, _agent_image: &str) {}
}

/// How long a kind of step may take, where that is more than most: it has limits of its own for what it waits for.
pub(crate) fn limit(step_type: &str) -> Option<Duration> {
    const HOUR: Duration = Duration::from_secs(3_600);
    match step_type.parse().ok()? {
        StepType::Install => Some(install::LIMIT),
        StepType::LogsGather => Some(logs_gather::LIMIT),
        StepType::DownloadBootArtifacts => Some(boot_artifacts::LIMIT),
        StepType::UpgradeAgent | StepType::InstallationDiskSpeedCheck => Some(HOUR),
        StepType::ContainerImageAvailability => Some(24 * HOUR),
        _ => None,
    }
}

/// The steps of a machine.
#[derive(Debug)]
pub struct HostSteps {
    root: Arc<Root>,
    dry_run: Option<DryRun>,
    chrony: ntp_synchronizer::Chrony,
    tools: Tools,
    service: Option<Config>,
    /// What the service calls this agent.
    agent_image: std::sync::Mutex<String>,
    installer: Installer,
    runtime_dir: PathBuf,
    log_dirs: LogDirs,
    artifact_pause: Duration,
    guards: Guards,
}

#[derive(Debug, Default)]
struct Guards {
    inventory: Guard,
    free_addresses: Guard,
    dhcp: Guard,
    disk_speed: Guard,
    images: Guard,
    upgrade: Guard,
    install: Guard,
    logs: Guard,
    artifacts: Guard,
}

impl HostSteps {
    /// Steps of the machine behind `root`; with `dry_run`, in the disguise of another.
    pub fn new(root: Root, dry_run: Option<DryRun>) -> Self {
        Self {
            root: Arc::new(root),
            dry_run,
            chrony: ntp_synchronizer::Chrony::default(),
            tools: Tools::default(),
            service: None,
            agent_image: std::sync::Mutex::default(),
            installer: Installer::default(),
            runtime_dir: "/run".into(),
            log_dirs: LogDirs::default(),
            artifact_pause: boot_artifacts::PAUSE,
            guards: Guards::default(),
        }
    }

    /// Where chronyd takes commands, if not where its tool expects it.
    pub fn chrony_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.chrony.socket = Some(path.into());
        self
    }

    /// The service that logs go to and that an installer reports to; without one those steps are refused.
    pub fn service(mut self, config: &Config) -> Self {
        config.agent_version.clone_into(self.agent_image.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.service = Some(config.clone());
        self
    }

    /// Sets where the host's programs are found.
    pub fn tools(mut self, tools: Tools) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the program that installs.
    pub fn installer(mut self, installer: Installer) -> Self {
        self.installer = installer;
        self
    }

    /// Sets the folder of files that last until the machine starts again.
    pub fn runtime_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.runtime_dir = dir.into();
        self
    }

    /// Sets the folders that logs are collected from and put together in.
    pub fn log_dirs(mut self, dirs: LogDirs) -> Self {
        self.log_dirs = dirs;
        self
    }

    /// Pause before boot artifacts are tried again.
    pub fn artifact_pause(mut self, pause: Duration) -> Self {
        self.artifact_pause = pause;
        self
    }

    fn agent_image(&self) -> std::sync::MutexGuard<'_, String> {
        self.agent_image.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Steps for HostSteps {
    async fn host_id(&self) -> HostId {
        if let Some(dry) = &self.dry_run {
            return dry.host_id;
        }
        let root = Arc::clone(&self.root);
        blocking(move || assisted_hostinfo::host_id(&root)).await
    }

    async fn machine(&self) -> Option<Machine> {
        if self.dry_run.is_some() {
            return None;
        }
        let root = Arc::clone(&self.root);
        Some(blocking(move || assisted_hostinfo::machine(&root)).await)
    }

    fn registered(&self, agent_image: &str) {
        agent_image.clone_into(&mut self.agent_image());
    }

    async fn run(&self, instruction: &Instruction) -> Outcome {
        let (args, tools, guards) = (&instruction.args, &self.tools, &self.guards);
        let (service, dry) = (self.service.as_ref(), self.dry_run.is_some());
        let Ok(kind) = instruction.step_type.parse() else { return unknown(&instruction.step_type) };
        match kind {
            StepType::Inventory => {
                inventory::run(args, &self.root, self.dry_run.as_ref(), &guards.inventory).await
            }
            StepType::ConnectivityCheck => connectivity_check::run(args, &self.root, dry).await,
            StepType::FreeNetworkAddresses => {
                free_network_addresses::run(args, &self.root, &guards.free_addresses).await
            }
            StepType::DhcpLeaseAllocate => dhcp_lease_allocate::run(args, &self.root, &guards.dhcp).await,
            StepType::ApiVipConnectivityCheck => api_vip_connectivity_check::run(args).await,
            StepType::TangConnectivityCheck => tang_connectivity_check::run(args).await,
            StepType::NtpSynchronizer => ntp_synchronizer::run(args, &self.chrony, tools).await,
            StepType::InstallationDiskSpeedCheck => {
                installation_disk_speed_check::run(args, &self.root, tools, dry, &guards.disk_speed).await
            }
            StepType::ContainerImageAvailability => {
                container_image_availability::run(args, tools, dry, &guards.images).await
            }
            StepType::DomainResolution => domain_resolution::run(args).await,
            StepType::VerifyVips => verify_vips::run(args, &self.root, dry).await,
            StepType::UpgradeAgent => upgrade_agent::run(args, tools, &guards.upgrade).await,
            StepType::StopInstallation => stop_installation::run(args, tools, &self.installer).await,
            StepType::LogsGather => {
                logs_gather::run(args, tools, service, &self.log_dirs, &guards.logs).await
            }
            StepType::Install => {
                let image = self.agent_image().clone();
                let (installer, dir) = (&self.installer, &self.runtime_dir);
                install::run(args, tools, service, &image, installer, dir, &guards.install).await
            }
            StepType::DownloadBootArtifacts => {
                let Ok(_held) = guards.artifacts.try_lock() else {
                    return Outcome::failed("the boot artifacts are being downloaded already");
                };
                boot_artifacts::download(args, tools, service, self.artifact_pause).await
            }
            StepType::RebootForReclaim => boot_artifacts::reboot(args, tools).await,
            // These two are in the list of kinds, but no agent has ever done them.
            StepType::Execute | StepType::NextStepRunner => unknown(&instruction.step_type),
        }
    }
}

fn unknown(step_type: &str) -> Outcome {
    let kind: String = step_type.chars().take(SHOWN_ARGS).collect();
    Outcome::failed(format!("failed to find action for step type {kind}"))
}

/// How a program ended, as the step's own outcome.
fn ended(done: Result<CmdOutput, CmdError>) -> Outcome {
    match done {
        Ok(done) => Outcome {
            exit_code: done.code().into(),
            output: done.text(),
            error: match String::from_utf8_lossy(&done.stderr).into_owned() {
                // A failure always has a text.
                text if text.is_empty() && !done.success() => format!("exit status {}", done.code()),
                text => text,
            },
        },
        Err(error) => Outcome::failed(error.to_string()),
    }
}

/// Reads the only argument of a step, a JSON text. `name` is what the protocol calls the step in errors.
fn only_arg<T: DeserializeOwned>(name: &str, args: &[String]) -> Result<T, Outcome> {
    let [text] = args else {
        return Err(Outcome::failed(format!(
            "{name} cmd accepts 1 params in args, given args {}",
            abbreviated(args)
        )));
    };
    serde_json::from_str(text).map_err(|error| Outcome::failed(format!("{name}: {error}")))
}

/// Arguments for an error text, cut where they are long.
fn abbreviated(args: &[String]) -> String {
    let mut text = String::from("[");
    let mut left = SHOWN_ARGS;
    for (index, arg) in args.iter().enumerate() {
        let part: String = arg.chars().take(left).collect();
        left -= part.chars().count();
        let _ = write!(text, "{}{part}", if index == 0 { "" } else { " " });
        if left == 0 {
            text.push('…');
            break;
        }
    }
    text.push(']');
    text
}

fn output<T: serde::Serialize>(value: &T) -> Outcome {
    match serde_json::to_string(value) {
        Ok(text) => Outcome::done(text),
        Err(error) => Outcome::failed(format!("the result can't be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> HostSteps {
        HostSteps::new(Root::live(), None)
    }

    fn instruction(step_type: &str, args: &[&str]) -> Instruction {
        let args = args.iter().map(ToString::to_string).collect();
        Instruction { step_type: step_type.into(), step_id: "s".into(), args }
    }

    #[tokio::test]
    async fn what_the_agent_cannot_do_is_answered() {
        for (kind, error) in [
            ("Step-not-exists", "failed to find action for step type Step-not-exists"),
            ("", "failed to find action for step type "),
            ("execute", "failed to find action for step type execute"),
            ("next-step-runner", "failed to find action for step type next-step-runner"),
        ] {
            let outcome = steps().run(&instruction(kind, &[])).await;
            assert_eq!((outcome.exit_code, outcome.error.as_str()), (-1, error));
        }
    }

    #[tokio::test]
    async fn bad_arguments_are_told() {
        let huge = "x".repeat(5_000_000);
        for (kind, args, error) in [
            (
                "ntp-synchronizer",
                &["a", "b"][..],
                "ntp synchronizer cmd accepts 1 params in args, given args [a b]",
            ),
            ("domain-resolution", &[], "domain resolution cmd accepts 1 params in args, given args []"),
            ("domain-resolution", &["{"], "domain resolution: EOF while parsing"),
            (
                "ntp-synchronizer",
                &[r#"{"ntp_source":"a b"}"#],
                "ntp synchronizer: \"a b\" is neither an address",
            ),
            (
                "ntp-synchronizer",
                &[r#"{"ntp_source":"-x"}"#],
                "ntp synchronizer: \"-x\" is neither an address",
            ),
            (
                "inventory",
                &["no-uuid"],
                "inventory cmd accepts only 1 params in args and it should be UUID, given args [no-uuid]",
            ),
            ("inventory", &[&huge], "inventory cmd accepts only 1 params"),
        ] {
            let outcome = steps().run(&instruction(kind, args)).await;
            assert_eq!(outcome.exit_code, -1);
            assert!(outcome.error.starts_with(error), "{}", outcome.error);
            assert!(outcome.error.len() < 4_000);
        }
    }

    #[tokio::test]
    async fn this_machine_has_an_inventory() {
        let id = HostId::random().to_string();
        let outcome = steps().run(&instruction("inventory", &[&id, "--some-flag=1"])).await;
        assert_eq!(outcome.exit_code, 0, "{}", outcome.error);
        let inventory: assisted_wire::inventory::Inventory = serde_json::from_str(&outcome.output).unwrap();
        assert!(inventory.cpu.unwrap().count > 0);
        assert!(inventory.memory.unwrap().usable_bytes > 0);
    }
}
