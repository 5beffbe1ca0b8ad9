//! `assisted-host agent`: registers this host and does what the service asks.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use assisted_agent::{Agent, Config, DryRun, End, HostSteps, Media};
use assisted_hostinfo::Root;
use assisted_wire::id::{HostId, InfraEnvId};
use clap::ArgAction;
use secrecy::{ExposeSecret, SecretString};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::logging;

/// Register this host and do what the service asks
///
/// The token is read from PULL_SECRET_TOKEN, proxies from HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
/// Long options may have one dash or two. Exit codes: 0 stopped, 1 unusable settings.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address of the service
    #[arg(long)]
    url: String,
    /// Id of the infra-env that this host belongs to
    #[arg(long)]
    infra_env_id: InfraEnvId,
    /// Image reference of this agent, told to the service
    #[arg(long, default_value = "")]
    agent_version: String,
    /// Seconds between attempts to register
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    interval: u64,
    /// File with certificates (PEM) trusted besides the system's
    #[arg(long)]
    cacert: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    insecure: bool,
    /// Accepted for existing units; the id follows from the hardware
    #[arg(long, hide = true)]
    host_id: Option<String>,
    #[command(flatten)]
    logging: logging::Args,
    /// Pretend to be another host (DRY_ENABLE)
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    dry_run: Option<bool>,
    /// Id of the pretended host (DRY_HOST_ID)
    #[arg(long)]
    force_id: Option<String>,
    /// MAC address of the pretended host (DRY_FORCED_MAC_ADDRESS)
    #[arg(long)]
    force_mac: Option<String>,
    /// Name of the pretended host (DRY_FORCED_HOSTNAME)
    #[arg(long)]
    force_hostname: Option<String>,
    /// IPv4 address of the pretended host, in CIDR form (DRY_FORCED_HOST_IPV4)
    #[arg(long)]
    forced_ipv4: Option<String>,
    /// File whose existence means that the pretended host has rebooted (DRY_FAKE_REBOOT_MARKER_PATH)
    #[arg(long)]
    fake_reboot_marker_path: Option<String>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let dry = DrySettings::read(&args, |name| std::env::var(name).ok())?;
    let dry_id = dry.as_ref().map(|dry| dry.run.host_id.to_string()).unwrap_or_default();
    logging::start(&args.logging, "agent_registration", &dry_id)?;

    let mut config = Config::new(&args.url, args.infra_env_id);
    config.agent_version = args.agent_version;
    config.interval = Duration::from_secs(args.interval);
    config.ca_file = args.cacert;
    config.insecure = args.insecure;
    config.token = SecretString::from(std::env::var("PULL_SECRET_TOKEN").unwrap_or_default());
    if config.token.expose_secret().is_empty() {
        warn!("PULL_SECRET_TOKEN is empty: the service must accept hosts without a token");
    }
    let real = dry.is_none();
    let dry = dry.unwrap_or_default();
    config.reboot_marker = dry.marker;
    let steps = HostSteps::new(Root::live(), (!real).then_some(dry.run));
    let mut agent = Agent::new(config, steps)?;
    if real {
        agent = agent.watch_media(Media::default());
    }
    info!(version = env!("CARGO_PKG_VERSION"), url = args.url, infra_env_id = %args.infra_env_id, "agent begins");
    crate::runtime()?.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).context("can't listen for signals")?;
        let work = async {
            match agent.run().await {
                // Only a restart may ask again.
                End::Frozen(_) => std::future::pending().await,
                End::Rebooted => info!("the pretended host has rebooted"),
            }
        };
        tokio::select! {
            () = work => {}
            _ = terminate.recv() => info!("stopped"),
            _ = tokio::signal::ctrl_c() => info!("interrupted"),
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// A pretended host, from flags or else from the environment.
#[derive(Debug, Default)]
struct DrySettings {
    run: DryRun,
    marker: Option<PathBuf>,
}

impl DrySettings {
    fn read(args: &Args, env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Self>> {
        // Each name is tried with a prefix first (agent-protocol §1.2).
        let env = |name: &str| {
            env(&format!("DRYCONFIG_{name}")).or_else(|| env(name)).filter(|text| !text.is_empty())
        };
        let text = |flag: &Option<String>, name| flag.clone().or_else(|| env(name)).unwrap_or_default();
        let on = args.dry_run.unwrap_or_else(|| {
            env("DRY_ENABLE")
                .is_some_and(|value| matches!(value.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True"))
        });
        if !on {
            return Ok(None);
        }
        let id = text(&args.force_id, "DRY_HOST_ID");
        let host_id: HostId = id
            .parse()
            .with_context(|| format!("a pretended host needs an id (--force-id): {id:?} is none"))?;
        let marker = text(&args.fake_reboot_marker_path, "DRY_FAKE_REBOOT_MARKER_PATH");
        Ok(Some(Self {
            run: DryRun {
                host_id,
                hostname: text(&args.force_hostname, "DRY_FORCED_HOSTNAME"),
                mac: text(&args.force_mac, "DRY_FORCED_MAC_ADDRESS"),
                ipv4: text(&args.forced_ipv4, "DRY_FORCED_HOST_IPV4"),
            },
            marker: (!marker.is_empty()).then(|| marker.into()),
        }))
    }
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
        assert_eq!((args.insecure, args.agent_version.as_str(), args.interval), (false, "a:b", 60));
        assert!(read(&["-insecure"]).insecure);
    }

    #[test]
    fn flags_win_over_the_environment() {
        let env = |name: &str| match name {
            "DRYCONFIG_DRY_ENABLE" => Some("true".to_owned()),
            "DRY_ENABLE" => Some("false".to_owned()),
            "DRY_HOST_ID" => Some(ID.to_owned()),
            "DRY_FORCED_HOSTNAME" => Some("env".to_owned()),
            _ => None,
        };
        let dry = DrySettings::read(&read(&["-force-hostname", "flag"]), env).unwrap().unwrap();
        assert_eq!((dry.run.hostname.as_str(), dry.run.host_id.to_string().as_str()), ("flag", ID));
        assert!(DrySettings::read(&read(&["-dry-run=false"]), env).unwrap().is_none());
        assert!(DrySettings::read(&read(&["-dry-run"]), |_| None).is_err());
    }
}
