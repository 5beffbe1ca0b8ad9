//! Settings of a pretended host, from flags or else from the environment (agent-protocol §1.13).

use std::path::PathBuf;

use anyhow::Context;
use assisted_agent::DryRun;
use assisted_wire::id::HostId;
use clap::ArgAction;

use crate::args::truth;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Pretend to be another host (DRY_ENABLE)
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_missing_value = "true")]
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

/// A variable that isn't empty; each name is tried with a prefix first (agent-protocol §1.2).
pub(crate) fn variable(name: &str, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    env(&format!("DRYCONFIG_{name}")).or_else(|| env(name)).filter(|text| !text.is_empty())
}

/// A pretended host, and the file that says it has rebooted.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) host: DryRun,
    pub(crate) marker: Option<PathBuf>,
}

impl Settings {
    /// `None` where nothing is to be pretended.
    pub(crate) fn read(args: &Args, env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Self>> {
        let env = |name: &str| variable(name, &env);
        let text = |flag: &Option<String>, name| flag.clone().or_else(|| env(name)).unwrap_or_default();
        let on = match (args.dry_run, env("DRY_ENABLE")) {
            (Some(on), _) => on,
            (None, Some(value)) => truth(&value).context("DRY_ENABLE")?,
            (None, None) => false,
        };
        if !on {
            return Ok(None);
        }
        let id = text(&args.force_id, "DRY_HOST_ID");
        let host_id: HostId = id
            .parse()
            .with_context(|| format!("a pretended host needs an id (--force-id): {id:?} is none"))?;
        let marker = text(&args.fake_reboot_marker_path, "DRY_FAKE_REBOOT_MARKER_PATH");
        Ok(Some(Self {
            host: DryRun {
                host_id,
                hostname: text(&args.force_hostname, "DRY_FORCED_HOSTNAME"),
                mac: text(&args.force_mac, "DRY_FORCED_MAC_ADDRESS"),
                ipv4: text(&args.forced_ipv4, "DRY_FORCED_HOST_IPV4"),
            },
            marker: (!marker.is_empty()).then(|| marker.into()),
        }))
    }

    /// The settings of this process.
    pub(crate) fn of_process(args: &Args) -> anyhow::Result<Option<Self>> {
        Self::read(args, |name| std::env::var(name).ok())
    }

    /// Id of the pretended host for log records; empty for a real one.
    pub(crate) fn log_id(settings: Option<&Self>) -> String {
        settings.map(|settings| settings.host.host_id.to_string()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const ID: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        dry: Args,
    }

    fn read(flags: &[&str], env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Settings>> {
        let argv = std::iter::once("x").chain(flags.iter().copied());
        Settings::read(&Cli::try_parse_from(argv).unwrap().dry, env)
    }

    #[test]
    fn flags_win_over_the_environment() {
        let env = |name: &str| match name {
            "DRYCONFIG_DRY_ENABLE" => Some("true".to_owned()),
            "DRY_ENABLE" => Some("false".to_owned()),
            "DRY_HOST_ID" => Some(ID.to_owned()),
            "DRY_FORCED_HOSTNAME" => Some("env".to_owned()),
            "DRY_FAKE_REBOOT_MARKER_PATH" => Some("/marker".to_owned()),
            _ => None,
        };
        let dry = read(&["--force-hostname", "flag"], env).unwrap().unwrap();
        assert_eq!((dry.host.hostname.as_str(), dry.host.host_id.to_string().as_str()), ("flag", ID));
        assert_eq!(dry.marker.as_deref(), Some(std::path::Path::new("/marker")));
        assert!(read(&["--dry-run=f"], env).unwrap().is_none());
        assert!(read(&["--dry-run"], |_| None).is_err(), "no id");
        assert!(read(&[], |name| (name == "DRY_ENABLE").then(|| "maybe".into())).is_err());
        assert!(read(&[], |_| None).unwrap().is_none());
    }
}
