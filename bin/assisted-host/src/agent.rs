//! `assisted-host agent`: registers this host and does what the service asks.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use assisted_agent::{Agent, Config, End, HostSteps, Installer, Media};
use assisted_base::process::{Cmd, TOKEN_VARIABLE, Tools};
use assisted_hostinfo::Root;
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::secret::Secret;
use clap::ArgAction;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::args::truth;
use crate::dry_run::{self, Settings};
use crate::logging;

/// Where the key of this host's agent is kept. It is gone when the machine is started anew, and nobody else reads it.
const KEY_FILE: &str = "/run/assisted-agent.key";

/// Register this host and do what the service asks
///
/// The token is read from PULL_SECRET_TOKEN, proxies from HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
/// Long options may have one dash or two. Exit codes: 0 stopped, 1 unusable settings.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// Seconds between attempts to register
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    interval: u64,
    /// Accepted for existing units; the id follows from the hardware
    #[arg(long, hide = true)]
    host_id: Option<String>,
    #[command(flatten)]
    logging: logging::Args,
    #[command(flatten)]
    dry: dry_run::Args,
}

/// Do what the service asks of a host that is registered already, until it is to register anew
///
/// For the container that an agent of another make starts on the host. Reads the same variables as `agent`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunnerArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// Id of this host
    #[arg(long)]
    host_id: HostId,
    /// Accepted for existing callers; only registration has an interval
    #[arg(long, hide = true)]
    interval: Option<u64>,
    #[command(flatten)]
    logging: logging::Args,
    #[command(flatten)]
    dry: dry_run::Args,
}

/// The service, as every part that speaks with it is told of it.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct ServiceArgs {
    /// Address of the service
    #[arg(long)]
    url: String,
    /// Id of the infra-env that this host belongs to
    #[arg(long)]
    infra_env_id: InfraEnvId,
    /// Image reference of this agent, told to the service
    #[arg(long, default_value = "")]
    agent_version: String,
    #[command(flatten)]
    trust: TrustArgs,
    /// Install by this program, which takes the installer's options, instead of the image that the service names; it
    /// runs as a transient unit of systemd
    #[arg(long, value_name = "PATH")]
    installer_program: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct TrustArgs {
    /// File with certificates (PEM) trusted besides the system's
    #[arg(long, default_value = "", hide_default_value = true)]
    cacert: String,
    /// Accept any certificate
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    pub(crate) insecure: bool,
}

impl TrustArgs {
    /// Units written by a template may leave it empty.
    pub(crate) fn ca_file(&self) -> Option<PathBuf> {
        (!self.cacert.is_empty()).then(|| PathBuf::from(&self.cacert))
    }

    /// Settings with this trust; the token is that of the environment unless one is given.
    pub(crate) fn config(&self, url: &str, infra_env_id: InfraEnvId, token: Option<Secret>) -> Config {
        let mut config = Config::new(url, infra_env_id);
        config.ca_file = self.ca_file();
        config.insecure = self.insecure;
        config.token =
            token.unwrap_or_else(|| Secret::from(std::env::var(TOKEN_VARIABLE).unwrap_or_default()));
        if config.token.expose().is_empty() {
            warn!("{TOKEN_VARIABLE} is empty: the service must accept hosts without a token");
        }
        config
    }
}

impl ServiceArgs {
    fn agent(self, interval: Duration, dry: Option<Settings>) -> anyhow::Result<Agent<HostSteps>> {
        let mut config = self.trust.config(&self.url, self.infra_env_id, None);
        config.agent_version = self.agent_version;
        config.interval = interval;
        let (host, marker) = dry.map(|dry| (dry.host, dry.marker)).unzip();
        config.reboot_marker = marker.flatten();
        let real = host.is_none();
        config.key_file = real.then(|| PathBuf::from(KEY_FILE));
        let installer = self.installer_program.map_or(Installer::Container, Installer::Program);
        let steps = HostSteps::new(Root::live(), host).service(&config).installer(installer);
        let agent = Agent::new(config, steps)?;
        Ok(if real { agent.watch_media(Media::default()) } else { agent })
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let dry = Settings::of_process(&args.dry)?;
    logging::start(&args.logging, "agent_registration", &Settings::log_id(dry.as_ref()))?;
    let (url, infra_env_id) = (args.service.url.clone(), args.service.infra_env_id);
    let agent = args.service.agent(Duration::from_secs(args.interval), dry)?;
    info!(version = env!("CARGO_PKG_VERSION"), url, %infra_env_id, "agent begins");
    until_stopped(async {
        loop {
            match agent.run().await {
                // Only a restart may ask again.
                End::Frozen(_) => std::future::pending().await,
                End::Rebooted => return info!("the pretended host has rebooted"),
                End::Upgraded(image) => go_on_as(&image).await,
                End::Register => {}
            }
        }
    })
}

pub(crate) fn run_steps(args: RunnerArgs) -> anyhow::Result<ExitCode> {
    let dry = Settings::of_process(&args.dry)?;
    logging::start(&args.logging, "agent_next_step_runner", &Settings::log_id(dry.as_ref()))?;
    let host_id = args.host_id;
    let agent = args.service.agent(Duration::ZERO, dry)?;
    info!(version = env!("CARGO_PKG_VERSION"), %host_id, "runner of steps begins");
    until_stopped(async {
        match agent.run_steps(host_id).await {
            End::Frozen(_) => std::future::pending().await,
            // Whoever started this one registers anew, and starts the one that the service names then.
            end => info!(?end, "runner of steps ends"),
        }
    })
}

/// Works until it is done, or a signal says to stop.
fn until_stopped(work: impl Future<Output = ()>) -> anyhow::Result<ExitCode> {
    crate::block_on(async {
        let mut terminate = signal(SignalKind::terminate()).context("can't listen for signals")?;
        tokio::select! {
            () = work => {}
            _ = terminate.recv() => info!("stopped"),
            _ = tokio::signal::ctrl_c() => info!("interrupted"),
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Becomes the agent of another image, which is here. Where that fails this one goes on: a host without an agent is
/// lost.
async fn go_on_as(image: &str) {
    let replaced = async {
        let own = std::env::current_exe()?;
        assisted_agent::program_of(image, &own, &Tools::default()).await?;
        info!(image, "going on as the new agent");
        let error = Cmd::new(&own).args(newer(std::env::args_os(), image)).take_over("agent");
        Err::<(), _>(anyhow::Error::from(error))
    };
    if let Err(error) = replaced.await {
        warn!(image, error = format!("{error:#}"), "the new agent can't go on; the old one does");
    }
}

/// The arguments of this process for the agent of another image. A later option counts more than an earlier one.
fn newer(argv: impl Iterator<Item = OsString>, image: &str) -> Vec<OsString> {
    let mut args: Vec<_> = argv.skip(1).collect();
    if args.first().is_some_and(|first| first == "agent") {
        args.remove(0);
    }
    args.extend(["--agent-version".into(), image.into()]);
    args
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Cli, Part};

    const ID: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";

    fn read(more: &[&str]) -> Args {
        let argv = ["agent", "-url", "http://h", "-infra-env-id", ID].into_iter().chain(more.iter().copied());
        match Cli::try_parse_from(crate::args::normalise(argv.map(Into::into))).unwrap().part {
            Part::Agent(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_of_existing_units() {
        let args = read(&[
            "--insecure=false",
            "-cacert",
            "/ca",
            "--agent-version",
            "a:b",
            "-with-text-logging=true",
        ]);
        let trust = &args.service.trust;
        assert_eq!((trust.insecure, args.service.agent_version.as_str(), args.interval), (false, "a:b", 60));
        let insecure = |flag: &str| read(&[flag]).service.trust.insecure;
        assert!(insecure("-insecure") && insecure("-insecure=1"));
        // The last one counts, and an empty path is none.
        assert_eq!(read(&["-cacert", "/ca", "-cacert", "", "-insecure=F"]).service.trust.cacert, "");
        assert_eq!(read(&["-interval", "5", "--interval=7"]).interval, 7);
    }

    #[test]
    fn a_newer_agent_has_the_same_arguments() {
        let argv = ["assisted-host", "agent", "-url", "http://h", "--agent-version=old:1"];
        let args = newer(argv.into_iter().map(Into::into), "new:2");
        assert_eq!(args, ["-url", "http://h", "--agent-version=old:1", "--agent-version", "new:2"]);
        assert_eq!(newer(["/usr/local/bin/agent".into()].into_iter(), "new:2").len(), 2);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let refused = |argv: &[&str]| {
            let argv = std::iter::once("agent").chain(argv.iter().copied()).map(Into::into);
            Cli::try_parse_from(crate::args::normalise(argv)).unwrap_err().to_string()
        };
        let good = ["-url", "http://h", "-infra-env-id", ID];
        let with = |more: &[&'static str]| refused(&[&good[..], more].concat());
        assert!(with(&["-urll=x"]).contains("--urll"));
        assert!(with(&["-insecure=perhaps"]).contains("perhaps"));
        assert!(with(&["-insecure", "false"]).contains("false"), "a value needs its equals sign");
        assert!(with(&["-interval", "0"]).contains("--interval"));
        assert!(refused(&good[..2]).contains("--infra-env-id"));
        assert!(refused(&good[2..]).contains("--url"));
        assert!(refused(&["-url", "http://h", "-infra-env-id", "x"]).contains("--infra-env-id"));
    }
}
