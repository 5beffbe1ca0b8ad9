//! `assisted-host logs-sender`: collects this host's logs and sends them to the service (agent-protocol §4).

use std::net::IpAddr;
use std::process::ExitCode;

use assisted_agent::{LogDirs, LogsRequest, gather_logs};
use assisted_base::process::Tools;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::secret::Secret;
use clap::ArgAction;

use crate::agent::TrustArgs;
use crate::args::truth;
use crate::dry_run::{self, Settings};
use crate::{logging, print};

/// Collect this host's logs and send them to the service
///
/// The token is read from PULL_SECRET_TOKEN unless it is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address of the service
    #[arg(long)]
    url: String,
    /// Id of the cluster that the logs are for
    #[arg(long)]
    cluster_id: ClusterId,
    /// Id of this host
    #[arg(long)]
    host_id: HostId,
    /// Id of the infra-env that this host belongs to
    #[arg(long)]
    infra_env_id: InfraEnvId,
    /// Token for the service; one in the environment shows in no list of processes
    #[arg(long)]
    pull_secret_token: Option<Secret>,
    /// This host plays bootstrap
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    bootstrap: bool,
    /// Collect the whole journal and what crashed too, and on the bootstrap host the masters' logs
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    with_installer_gather_logging: bool,
    /// Addresses of the masters
    #[arg(long, value_delimiter = ',')]
    masters_ips: Vec<IpAddr>,
    /// Only log records since then, as journalctl takes it
    #[arg(long)]
    since: Option<String>,
    /// Keep what was collected
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    dont_clean: bool,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    logging: logging::Args,
    #[command(flatten)]
    dry: dry_run::Args,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let dry = Settings::of_process(&args.dry)?;
    logging::start(&args.logging, "logs-sender", &Settings::log_id(dry.as_ref()))?;
    let service = args.trust.config(&args.url, args.infra_env_id, args.pull_secret_token);
    let request = LogsRequest {
        cluster_id: args.cluster_id,
        infra_env_id: args.infra_env_id,
        host_id: args.host_id,
        bootstrap: args.bootstrap,
        installer_gather: args.with_installer_gather_logging,
        master_ips: args.masters_ips,
        since: args.since,
        keep: args.dont_clean,
    };
    let outcome = crate::block_on(gather_logs(&request, &Tools::default(), &service, &LogDirs::default()))?;
    print(&outcome.output)?;
    Ok(ExitCode::from(u8::try_from(outcome.exit_code).unwrap_or(u8::MAX)))
}
