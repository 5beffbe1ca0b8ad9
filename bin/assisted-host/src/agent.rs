//! `assisted-host agent`: registers this host and does what the service asks.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use assisted_agent::{Agent, Config, End, HostSteps, Media, TOKEN_VARIABLE};
use assisted_hostinfo::Root;
use assisted_wire::id::InfraEnvId;
use clap::ArgAction;
use secrecy::{ExposeSecret, SecretString};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::args::truth;
use crate::dry_run::{self, Settings};
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
    #[arg(long, default_value = "", hide_default_value = true)]
    cacert: String,
    /// Accept any certificate
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    insecure: bool,
    /// Accepted for existing units; the id follows from the hardware
    #[arg(long, hide = true)]
    host_id: Option<String>,
    #[command(flatten)]
    logging: logging::Args,
    #[command(flatten)]
    dry: dry_run::Args,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let dry = Settings::of_process(&args.dry)?;
    logging::start(&args.logging, "agent_registration", &Settings::log_id(dry.as_ref()))?;

    let mut config = Config::new(&args.url, args.infra_env_id);
    config.agent_version = args.agent_version;
    config.interval = Duration::from_secs(args.interval);
    // Units written by a template may leave it empty.
    config.ca_file = (!args.cacert.is_empty()).then(|| args.cacert.into());
    config.insecure = args.insecure;
    config.token = SecretString::from(std::env::var(TOKEN_VARIABLE).unwrap_or_default());
    if config.token.expose_secret().is_empty() {
        warn!("PULL_SECRET_TOKEN is empty: the service must accept hosts without a token");
    }
    let (host, marker) = dry.map(|dry| (dry.host, dry.marker)).unzip();
    config.reboot_marker = marker.flatten();
    let real = host.is_none();
    let steps = HostSteps::new(Root::live(), host);
    let mut agent = Agent::new(config, steps)?;
    if real {
        agent = agent.watch_media(Media::default());
    }
    info!(version = env!("CARGO_PKG_VERSION"), url = args.url, infra_env_id = %args.infra_env_id, "agent begins");
    crate::block_on(async {
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
    })?
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
        assert!(read(&["-insecure"]).insecure && read(&["-insecure=1"]).insecure);
        // The last one counts, and an empty path is none.
        assert_eq!(read(&["-cacert", "/ca", "-cacert", "", "-insecure=F"]).cacert, "");
        assert_eq!(read(&["-interval", "5", "--interval=7"]).interval, 7);
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
