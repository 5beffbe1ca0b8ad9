//! `assisted lab simulate`: clusters of simulated hosts on a real service.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use assisted_simhost::drive::{self, DriveError, Target};
use assisted_simhost::fault::Fault;
use assisted_simhost::plan::{Goal, Plan};
use assisted_simhost::simulation::{ClusterResult, Simulation};
use assisted_simhost::topology::Topology;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::{ClusterId, InfraEnvId};
use clap::{Args, ValueEnum};
use serde::Serialize;
use url::Url;

use super::table::{Live, summary};
use crate::cli::{Failure, Format, Global, file, show};

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
    /// Clusters to install
    #[arg(long, default_value_t = 1, value_name = "N")]
    clusters: u32,
    /// Hosts of each cluster [default: as few as the topology needs; ha has two workers]
    #[arg(long, value_name = "N")]
    hosts: Option<u32>,
    /// What one host of each cluster does wrong; several faults take turns
    ///
    /// die[@STAGE], fail[@STAGE], double, delay, wrong-type, clock, slow-disk, broken-disk, image-pull, wrong-boot.
    /// A stage is written like writing-image-to-disk.
    #[arg(long = "fault", value_name = "NAME[@STAGE]")]
    faults: Vec<Fault>,
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
        let mut target = target(global).await?;
        target.connections = self.connections;
        let mut plan = self.plan()?;
        if plan.version.is_empty() {
            plan.version = target.default_version().await?;
        }
        let limit = Duration::from_secs(self.timeout.saturating_mul(60));
        let mut simulation = Simulation::new(plan);
        let mut live = Live::new(global.output == Format::Table);
        let mut now = Duration::ZERO;
        tokio::select! {
            ended = drive::run(&mut simulation, &target, limit, |simulation, at| {
                now = at;
                live.show(simulation, at)
            }) => { ended?; }
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
        let hosts = self.hosts.unwrap_or_else(|| self.topology.usual_hosts());
        let mut plan = Plan::new(self.topology, self.clusters, hosts, self.speed).map_err(refused)?;
        plan.goal = match self.until {
            Until::Ready => Goal::Ready,
            Until::Installed => Goal::Installed,
        };
        plan.faults.clone_from(&self.faults);
        plan.seed = self.seed;
        plan.expected = self.expect;
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

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Away { .. } => Self::Unreachable(error.to_string()),
            DriveError::NoVersion | DriveError::Ended => Self::Refused(error.to_string()),
        }
    }
}

/// The service of the command line. Simulated hosts speak plain HTTP.
async fn target(global: &Global) -> Result<Target, Failure> {
    let usage =
        |why: &str| Failure::Usage(format!("{why}; give --url as http://HOST:PORT (it is {:?})", global.url));
    let url = Url::parse(&global.url).map_err(|error| usage(&error.to_string()))?;
    if url.scheme() != "http" || url.path() != "/" {
        return Err(usage("simulated hosts speak plain HTTP to the service itself"));
    }
    let host = url.host_str().ok_or_else(|| usage("no host"))?;
    let port = url.port_or_known_default().ok_or_else(|| usage("no port"))?;
    // An IPv6 address stands in brackets there, but not here.
    let found = tokio::net::lookup_host((host.trim_matches(['[', ']']), port)).await;
    let found = found.map_err(|error| Failure::Unreachable(format!("can't find {host}: {error}")))?;
    // The service listens on one of them; localhost has two.
    for address in found {
        if tokio::net::TcpStream::connect(address).await.is_ok() {
            return Ok(Target { token: global.token.clone(), ..Target::new(address) });
        }
    }
    Err(Failure::Unreachable(format!(
        "the service at {} can't be reached; start one with `assisted serve`",
        global.url
    )))
}
