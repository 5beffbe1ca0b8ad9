//! `assisted-lab simulate`: clusters of simulated hosts on a real service.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use assisted_console::output::show;
use assisted_console::{Failure, Format, Global, file};
use assisted_simhost::connection::Access;
use assisted_simhost::drive::{self, DriveError, Target};
use assisted_simhost::fault::Faults;
use assisted_simhost::network::{Network, Platform};
use assisted_simhost::plan::{Goal, Plan, Shape};
use assisted_simhost::simulation::{ClusterResult, Simulation};
use assisted_simhost::tls::Tls;
use assisted_simhost::topology::Topology;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::secret::Secret;
use clap::{Args, ValueEnum};
use serde::Serialize;
use url::Url;

use crate::table::{Live, summary};

/// How far a simulation goes.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Until {
    /// The clusters could be installed
    Ready,
    /// The clusters are installed
    Installed,
}

/// Let simulated hosts be discovered and installed by a real service
///
/// Each host registers, polls, and answers every step as a real one would; its installer and its cluster's controller
/// report what real ones report. Simulated time passes faster than real time, but the service's own time limits are
/// real. Exits with 1 if a cluster did not end as expected.
#[derive(Args, Debug)]
pub struct Simulate {
    /// Shape of the clusters: sno, compact, ha, ha4, ha5, arbiter or tnf
    #[arg(long, default_value = "compact")]
    topology: Topology,
    /// How several nodes are reached: vips, dhcp-vips, dual-stack or user-managed
    #[arg(long, default_value = "vips")]
    network: Network,
    /// What the clusters are made for: default, none, baremetal, vsphere, nutanix, oci or external
    #[arg(long, default_value = "default")]
    platform: Platform,
    /// Clusters to install
    #[arg(long, default_value_t = 1, value_name = "N")]
    clusters: u32,
    /// Hosts of each cluster [default: as few as the topology needs; ha has two workers]
    #[arg(long, value_name = "N")]
    hosts: Option<u32>,
    /// Control-plane nodes to add to each installed cluster
    #[arg(long, default_value_t = 0, value_name = "N")]
    add_masters: u32,
    /// Workers to add to each installed cluster
    #[arg(long, default_value_t = 0, value_name = "N")]
    add_workers: u32,
    /// What goes wrong in each cluster; several of these take turns
    ///
    /// die, fail, silence, restart, media, cancel and reset happen at a MOMENT: discovery, preparing, a stage of the
    /// installation (such as writing-image-to-disk) or finalizing. double, delay, disorder, wrong-type, wrong-host,
    /// wrong-stage, clock, clock-behind, slow-disk, broken-disk, image-pull, wrong-boot, olm-operator and
    /// cluster-operator happen all the time. HOST is the host's number in its cluster, from 0, or bootstrap, master,
    /// worker or arbiter: the first of that role that gets so far; by default the seed chooses. With + between them
    /// several happen in one cluster.
    #[arg(long = "fault", value_name = "NAME[@MOMENT][:HOST]")]
    faults: Vec<Faults>,
    /// The same seed gives the same hosts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Simulated seconds per second
    #[arg(long, default_value_t = 60.0, value_name = "X")]
    speed: f64,
    /// How far to go
    #[arg(long, value_enum, default_value_t = Until::Installed)]
    until: Until,
    /// Status in which every cluster has to end [default: as topology and faults have it]
    #[arg(long, value_name = "STATUS")]
    expect: Option<ClusterStatus>,
    /// An existing cluster, instead of new ones
    #[arg(long, requires = "infra_env", value_name = "ID")]
    cluster: Option<ClusterId>,
    /// The infra-env of the existing cluster
    #[arg(long, requires = "cluster", value_name = "ID")]
    infra_env: Option<InfraEnvId>,
    /// Token of the infra-env, with which hosts and controller ask (`X-Secret-Key`); for a service with AUTH_TYPE=local
    #[arg(
        long,
        env = "ASSISTED_AGENT_TOKEN",
        hide_env_values = true,
        requires = "infra_env",
        value_name = "TOKEN"
    )]
    agent_token: Option<String>,
    /// Only play the hosts: someone else sets the cluster up and installs it
    #[arg(long, requires = "cluster")]
    hosts_only: bool,
    /// OpenShift version of the clusters [default: the service's]
    #[arg(long, value_name = "VERSION")]
    openshift_version: Option<String>,
    /// Pull secret of the clusters [default: one with which nothing can be pulled]
    #[arg(long, value_name = "FILE")]
    pull_secret_file: Option<PathBuf>,
    /// Connections to the service
    #[arg(long, default_value_t = 8, value_name = "N")]
    connections: usize,
    /// Give up after so many minutes of real time
    #[arg(long, default_value_t = 60, value_name = "MINUTES")]
    timeout: u64,
}

/// What became of a simulation.
#[derive(Serialize)]
struct Report<'a> {
    as_expected: bool,
    simulated_seconds: u64,
    clusters: &'a [ClusterResult],
    /// What the service refused, and how often.
    refusals: &'a BTreeMap<String, u64>,
}

impl Simulate {
    /// Runs the simulation to its end.
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        let mut target = target(global, self.agent_token.as_deref()).await?;
        target.connections = self.connections;
        target.reach().await.map_err(|error| failure(&error))?;
        let mut plan = self.plan()?;
        if plan.version.is_empty() && plan.existing.is_none() {
            plan.version = target.default_version().await.map_err(|error| failure(&error))?;
        }
        let limit = Duration::from_secs(self.timeout.saturating_mul(60));
        let mut simulation = Simulation::new(plan);
        let mut live = Live::new(global.output == Format::Table);
        let mut now = Duration::ZERO;
        tokio::select! {
            ended = drive::run(&mut simulation, &target, limit, |simulation, at| {
                now = at;
                live.show(simulation, at)
            }) => { ended.map_err(|error| failure(&error))?; }
            _ = tokio::signal::ctrl_c() => {}
        }
        let results = simulation.results(now);
        let failed = results.iter().filter(|result| !result.as_expected).count();
        let report = Report {
            as_expected: failed == 0,
            simulated_seconds: now.as_secs(),
            clusters: &results,
            refusals: simulation.refusals(),
        };
        show(global.output, &report, |report| summary(report.clusters, report.refusals))?;
        match failed {
            0 => Ok(()),
            _ => Err(Failure::Refused(format!(
                "{failed} of {} clusters did not end as expected",
                results.len()
            ))),
        }
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let refused = |error: assisted_simhost::plan::PlanError| Failure::Usage(error.to_string());
        let shape = Shape {
            topology: self.topology,
            network: self.network,
            platform: self.platform,
            hosts: self.hosts.unwrap_or_else(|| self.topology.usual_hosts()),
            added_masters: self.add_masters,
            added_workers: self.add_workers,
        };
        let plan = Plan::new(shape, self.clusters, self.speed).map_err(refused)?;
        let mut plan = plan.with_faults(self.faults.clone()).map_err(refused)?;
        plan.goal = match self.until {
            Until::Ready => Goal::Ready,
            Until::Installed => Goal::Installed,
        };
        plan.seed = self.seed;
        plan.expected = self.expect;
        plan.hosts_only = self.hosts_only;
        plan.version = self.openshift_version.clone().unwrap_or_default();
        if let Some(path) = &self.pull_secret_file {
            plan.pull_secret = file(path)?;
        }
        match (self.cluster, self.infra_env) {
            (Some(cluster), Some(infra_env)) => plan.with_existing(cluster, infra_env).map_err(refused),
            _ => Ok(plan),
        }
    }
}

fn failure(error: &DriveError) -> Failure {
    match error {
        DriveError::Away { .. } | DriveError::Unreachable { .. } => Failure::Unreachable(error.to_string()),
        DriveError::NoVersion | DriveError::Ended => Failure::Refused(error.to_string()),
    }
}

/// The service of the command line.
async fn target(global: &Global, agent_token: Option<&str>) -> Result<Target, Failure> {
    let usage = |why: &dyn Display| {
        Failure::Usage(format!(
            "{why}; give --url as http://HOST:PORT or https://HOST:PORT (it is {:?})",
            global.url
        ))
    };
    let url = Url::parse(&global.url).map_err(|error| usage(&error))?;
    if !matches!(url.scheme(), "http" | "https") || url.path() != "/" {
        return Err(usage(&"simulated hosts speak to the service itself"));
    }
    let host = url.host_str().ok_or_else(|| usage(&"no host"))?;
    // An IPv6 address stands in brackets there, but not here.
    let host = host.trim_matches(['[', ']']);
    let port = url.port_or_known_default().ok_or_else(|| usage(&"no port"))?;
    let tls = match url.scheme() {
        "https" => {
            let tls = Tls::new(host, global.ca_file.as_deref());
            Some(tls.map_err(|error| Failure::Usage(error.to_string()))?)
        }
        _ => None,
    };
    let secret = |token: &str| Secret::from(token);
    let access =
        Access { token: global.token.as_deref().map(secret), agent_token: agent_token.map(secret), tls };
    let found = tokio::net::lookup_host((host, port)).await;
    let found = found.map_err(|error| Failure::Unreachable(format!("can't find {host}: {error}")))?;
    // The service listens on one of them; localhost has two.
    for address in found {
        if tokio::net::TcpStream::connect(address).await.is_ok() {
            return Ok(Target { access, ..Target::new(address) });
        }
    }
    Err(Failure::Unreachable(format!(
        "the service at {} can't be reached; start one with `assisted serve`",
        global.url
    )))
}
