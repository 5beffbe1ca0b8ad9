//! `assisted-host installer`: installs this host, up to its restart from the disk (installer-and-controller §A2).

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use assisted_base::process::{Cmd, TOKEN_VARIABLE};
use assisted_installer::{Config, DryRun, Host, Installer, Intervals};
use assisted_wire::host::HostRole;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::secret::Secret;
use clap::ArgAction;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::agent::TrustArgs;
use crate::args::truth;
use crate::dry_run::{self, Settings};
use crate::logging::{self, Sinks};

/// Install this host, up to its restart from the disk
///
/// It overwrites the boot device. The agent starts it when the service asks; run again after it was killed, it goes on. The
/// token is read from PULL_SECRET_TOKEN, proxies from HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Long options may have one dash or
/// two. Exit codes: 0 done or stopped, 1 failed, 2 unusable options.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the host becomes: bootstrap, master, arbiter or worker
    #[arg(long, default_value = "master")]
    role: HostRole,
    /// Id of the cluster
    #[arg(long)]
    cluster_id: ClusterId,
    /// Id of the infra-env; that of the cluster unless told
    #[arg(long)]
    infra_env_id: Option<InfraEnvId>,
    /// Id of this host; without one nothing is reported
    #[arg(long)]
    host_id: Option<HostId>,
    /// Disk to install to; it is overwritten
    #[arg(long)]
    boot_device: PathBuf,
    /// Address of the service
    #[arg(long)]
    url: String,
    /// Version that is installed
    #[arg(long, default_value = "4.4")]
    openshift_version: String,
    /// Image of the machine-config-operator
    #[arg(long, default_value = "", hide_default_value = true)]
    mco_image: String,
    /// Log more
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    verbose: bool,
    /// Image of the controller
    #[arg(long, default_value = "quay.io/ocpmetal/assisted-installer-controller:latest")]
    controller_image: String,
    /// Accepted for existing callers; logs are sent without an image
    #[arg(long, hide = true)]
    agent_image: Option<String>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Proxy of the cluster for HTTP, for programs that are run
    #[arg(long, default_value = "", hide_default_value = true)]
    http_proxy: String,
    /// Proxy of the cluster for HTTPS, for programs that are run
    #[arg(long, default_value = "", hide_default_value = true)]
    https_proxy: String,
    /// Where no proxy is used
    #[arg(long, default_value = "", hide_default_value = true)]
    no_proxy: String,
    /// Addresses of the service for the controller, with commas
    #[arg(long, value_delimiter = ',')]
    service_ips: Vec<IpAddr>,
    /// Control-plane hosts of the cluster
    #[arg(long, default_value_t = 0)]
    control_plane_count: u32,
    /// Tell the controller to wait for the cluster's version
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    check_cluster_version: bool,
    /// Image that gathers data for support, or a JSON object of images
    #[arg(long, default_value = "", hide_default_value = true)]
    must_gather_image: String,
    /// Disk that loses its partition table; may be repeated
    #[arg(long, action = ArgAction::Append)]
    format_disk: Vec<PathBuf>,
    /// Leave volume groups, arrays and signatures on the disk as they are
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    skip_installation_disk_cleanup: bool,
    /// Put the release's own system onto the disk, which saves a restart
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    enable_skip_mco_reboot: bool,
    /// Tell the controller to count restarts
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    notify_num_reboots: bool,
    /// Tell the controller to approve every request for a certificate of a node
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = truth,
          default_value = "false", default_missing_value = "true")]
    approve_all_csrs: bool,
    /// Lay the system of this image beside the one that runs, instead of writing a disk
    #[arg(long, default_value = "", hide_default_value = true)]
    coreos_image: String,
    /// Arguments for coreos-installer, a JSON array
    #[arg(long, default_value = "", hide_default_value = true)]
    installer_args: String,
    /// File with the hosts of a pretended cluster (DRY_CLUSTER_HOSTS_PATH)
    #[arg(long)]
    dry_run_cluster_hosts_path: Option<String>,
    #[command(flatten)]
    dry: dry_run::Args,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    // HTTP clients look at the environment, which a running process can't change safely.
    if !args.no_proxy.is_empty() && std::env::var("NO_PROXY").ok().as_ref() != Some(&args.no_proxy) {
        let error = restarted(&args.no_proxy);
        return Err(anyhow::Error::from(error).context("can't restart with NO_PROXY"));
    }
    let pretended = Settings::of_process(&args.dry)?;
    let id = Settings::log_id(pretended.as_ref());
    let suffix = if id.is_empty() { String::new() } else { format!("-{id}") };
    let file = PathBuf::from(format!("/var/log/assisted-installer{suffix}.log"));
    let sinks = Sinks { journal: true, file: Some(file), stdout: true, stderr: false, verbose: args.verbose };
    logging::begin(&sinks, "installer", &id)?;
    let proxies = args.proxies();
    let env = |name: &str| std::env::var(name).ok();
    let cluster_hosts = args.dry_run_cluster_hosts_path.clone();
    let cluster_hosts = cluster_hosts.or_else(|| dry_run::variable("DRY_CLUSTER_HOSTS_PATH", env));
    let dry_run = pretended.map(|pretended| DryRun {
        reboot_marker: pretended.marker.unwrap_or_default(),
        cluster_hosts: cluster_hosts.unwrap_or_default().into(),
    });
    let config = args.config(dry_run);
    info!(version = env!("CARGO_PKG_VERSION"), url = config.url, role = %config.role, cluster = %config.cluster_id,
          device = %config.boot_device.display(), "installer begins");
    let installer = Installer::new(config, Host::live(proxies))?;
    crate::block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            done = installer.run() => Ok(done.map(|()| ExitCode::SUCCESS)?),
            // Whoever stops it knows that it did: nothing is reported.
            _ = terminate.recv() => {
                info!("stopped");
                installer.stopped().await;
                Ok(ExitCode::SUCCESS)
            }
            _ = tokio::signal::ctrl_c() => Ok(ExitCode::FAILURE),
        }
    })?
}

/// This process again, with what it must know of proxies in its environment.
fn restarted(no_proxy: &str) -> std::io::Error {
    let mut argv = std::env::args_os();
    let name = argv.next().unwrap_or_default().to_string_lossy().into_owned();
    match std::env::current_exe() {
        Ok(program) => {
            let cmd = Cmd::new(program).args(argv.collect::<Vec<OsString>>());
            cmd.env("NO_PROXY", no_proxy).env("no_proxy", no_proxy).take_over(&name)
        }
        Err(error) => error,
    }
}

impl Args {
    /// Variables for the programs that are run: the cluster's proxies, where it has any.
    fn proxies(&self) -> Vec<(String, String)> {
        if self.http_proxy.is_empty() && self.https_proxy.is_empty() {
            return Vec::new();
        }
        let given = [
            ("HTTP_PROXY", &self.http_proxy),
            ("HTTPS_PROXY", &self.https_proxy),
            ("NO_PROXY", &self.no_proxy),
        ];
        given.map(|(name, value)| (name.to_owned(), value.clone())).into()
    }

    fn config(self, dry_run: Option<DryRun>) -> Config {
        let token = Secret::from(std::env::var(TOKEN_VARIABLE).unwrap_or_default());
        if token.expose().is_empty() {
            warn!("{TOKEN_VARIABLE} is empty: the service must accept hosts without a token");
        }
        Config {
            role: self.role,
            cluster_id: self.cluster_id,
            infra_env_id: self.infra_env_id.unwrap_or(InfraEnvId(self.cluster_id.0)),
            host_id: self.host_id,
            boot_device: self.boot_device,
            url: self.url,
            openshift_version: self.openshift_version,
            mco_image: self.mco_image,
            controller_image: self.controller_image,
            insecure: self.trust.insecure,
            ca_file: self.trust.ca_file(),
            service_ips: self.service_ips,
            control_plane_count: if self.role == HostRole::Worker { 0 } else { self.control_plane_count },
            check_cluster_version: self.check_cluster_version,
            must_gather_image: self.must_gather_image,
            disks_to_format: self.format_disk,
            skip_disk_cleanup: self.skip_installation_disk_cleanup,
            skip_mco_reboot: self.enable_skip_mco_reboot,
            notify_num_reboots: self.notify_num_reboots,
            approve_all_csrs: self.approve_all_csrs,
            coreos_image: self.coreos_image,
            installer_args: self.installer_args,
            token,
            dry_run,
            intervals: Intervals::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Cli, Part};

    const ID: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";
    const NEEDED: [&str; 6] = ["-cluster-id", ID, "-boot-device", "/dev/sda", "-url", "http://h"];

    fn parse(name: &str, more: &[&str]) -> Result<Args, clap::Error> {
        let argv = [name].into_iter().chain(NEEDED).chain(more.iter().copied()).map(Into::into);
        match Cli::try_parse_from(crate::args::normalise(argv))?.part {
            Part::Installer(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_of_existing_callers() {
        let config = parse("/usr/bin/installer", &[]).unwrap().config(None);
        assert_eq!((config.role, config.openshift_version.as_str()), (HostRole::Master, "4.4"));
        assert_eq!((config.infra_env_id.to_string().as_str(), config.host_id), (ID, None));
        let more = [
            "--role",
            "worker",
            "--infra-env-id",
            ID,
            "--host-id",
            ID,
            "--controller-image",
            "c:1",
            "--agent-image",
            "a:1",
            "--control-plane-count",
            "3",
            "--mco-image",
            "m:1",
            "--must-gather-image",
            r#"{"ocp":"g:1"}"#,
            "--openshift-version",
            "4.19.3",
            "--format-disk",
            "/dev/a",
            "--format-disk",
            "/dev/b",
            "--insecure",
            "--check-cluster-version",
            "--skip-installation-disk-cleanup=false",
            "--cacert",
            "/ca",
            "--installer-args",
            r#"["--append-karg","ip=52-54-00-aa-bb-cc:dhcp"]"#,
            "--enable-skip-mco-reboot",
            "--notify-num-reboots=true",
            "--approve-all-csrs",
            "--http-proxy",
            "http://p:3128",
            "--no-proxy",
            "127.0.0.1,.svc",
            "--service-ips",
            "10.0.0.1,fd00::1",
            "--coreos-image",
            "o:1",
            "--verbose",
        ];
        let args = parse("assisted-installer", &more).unwrap();
        let proxies = args.proxies();
        assert_eq!(proxies[0], ("HTTP_PROXY".into(), "http://p:3128".into()));
        assert_eq!(proxies[2], ("NO_PROXY".into(), "127.0.0.1,.svc".into()));
        let config = args.config(None);
        // Its number doesn't matter to a worker.
        assert_eq!((config.role, config.control_plane_count), (HostRole::Worker, 0));
        assert_eq!(config.disks_to_format, [PathBuf::from("/dev/a"), "/dev/b".into()]);
        assert!(config.insecure && config.check_cluster_version && !config.skip_disk_cleanup);
        assert!(config.skip_mco_reboot && config.notify_num_reboots && config.keeps_disk());
        assert!(config.approve_all_csrs);
        assert_eq!((config.service_ips.len(), config.ca_file), (2, Some("/ca".into())));
        let many = parse("installer", &["-role=master", "-control-plane-count=3"]).unwrap().config(None);
        assert_eq!(many.control_plane_count, 3);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for more in [
            &["--role", "king"][..],
            &["--frobnicate"],
            &["--host-id", "x"],
            &["--high-availability-mode", "Full"],
        ] {
            assert_eq!(parse("installer", more).unwrap_err().exit_code(), 2, "{more:?}");
        }
    }
}
