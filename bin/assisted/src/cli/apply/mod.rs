//! `assisted apply`: the objects of the Kubernetes API, from files, without any cluster behind them.

mod clusters;
mod hosts;
mod infra_envs;
mod install;
mod plan;
mod read;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use assisted_console::Failure;
use assisted_console::output::show;
use assisted_kubeapi::objects::Manifests;
use assisted_wire::cluster::Cluster;
use clap::Args;

use super::common::Context;
use plan::Plan;
use report::{Action, Applied, Mode, differences, overview};

/// Create and change clusters and infra-envs as manifests describe them
#[derive(Args, Debug)]
#[command(after_help = "\
Reads ClusterDeployment, AgentClusterInstall, InfraEnv, NMStateConfig, ClusterImageSet, BareMetalHost, and the Secrets and
ConfigMaps that they refer to; a List stands for its items. Everything is read and checked before the first request, so that nothing is left
half done. What is there already, by name and domain, is changed where it differs; run again, nothing changes. Objects of
other kinds are listed and passed over.

  assisted apply -f cluster-manifests/
  kubectl kustomize site/ | assisted apply -f - --install")]
pub struct Apply {
    /// File or folder of manifests; `-` is standard input; can be given several times
    #[arg(short, long = "filename", value_name = "PATH", required = true)]
    filename: Vec<PathBuf>,
    /// Tell what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Wait until the hosts that the cluster asks for are there, and start the installation
    #[arg(long, conflicts_with = "dry_run")]
    install: bool,
    /// Minutes to wait for the hosts at most
    #[arg(long, value_name = "MINUTES", default_value_t = 60, requires = "install")]
    timeout: u64,
}

/// Show where the service differs from what manifests describe, field by field; exit code 1 if it does
///
/// Reads what `assisted apply` reads, and changes nothing. Registry credentials can't be compared.
#[derive(Args, Debug)]
pub struct Diff {
    /// File or folder of manifests; `-` is standard input; can be given several times
    #[arg(short, long = "filename", value_name = "PATH", required = true)]
    filename: Vec<PathBuf>,
}

/// What became of the objects of the manifests, and what an installation then needs to know.
struct Outcome<'a> {
    applied: Vec<Applied>,
    clusters: Vec<Option<Cluster>>,
    hosts: hosts::Hosts<'a>,
}

/// Makes the service as the plan says, or tells what that would take.
async fn carry_out<'a>(
    context: &Context,
    manifests: &Manifests,
    plan: &'a Plan<'a>,
    mode: Mode,
) -> Result<Outcome<'a>, Failure> {
    let (there, infra_envs_there) = (context.clusters().await?, context.infra_envs().await?);
    let mut applied = Vec::new();
    let mut clusters = Vec::new();
    for cluster in &plan.clusters {
        clusters.push(cluster.apply(context, &there, mode, &mut applied).await?);
    }
    let mut infra_envs = Vec::new();
    for infra_env in &plan.infra_envs {
        let cluster = infra_env.cluster.map(|place| &clusters[place]);
        infra_envs.push(infra_env.apply(context, &infra_envs_there, cluster, mode, &mut applied).await?);
    }
    let hosts = hosts::Hosts::new(&plan.hosts, &infra_envs);
    applied.extend(hosts.apply(context, mode).await?);
    applied.extend(manifests.others().iter().map(|object| Applied::passed_over(object)));
    if applied.iter().all(|applied| applied.action == Action::PassedOver) {
        return Err(Failure::Usage(
            "there is no ClusterDeployment and no InfraEnv among the objects; they are what is created here"
                .to_owned(),
        ));
    }
    Ok(Outcome { applied, clusters, hosts })
}

impl Apply {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let manifests = read::manifests(&self.filename)?;
        let plan = Plan::new(&manifests)?;
        let mode = if self.dry_run { Mode::Try } else { Mode::Do };
        let outcome = carry_out(context, &manifests, &plan, mode).await?;
        show(context.format, &outcome.applied, |applied| overview(applied))?;
        if self.install {
            let limit = Duration::from_secs(self.timeout * 60);
            for (planned, cluster) in plan.clusters.iter().zip(&outcome.clusters) {
                install::when_ready(context, planned, cluster, &outcome.hosts, limit).await?;
            }
        }
        Ok(())
    }
}

impl Diff {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let manifests = read::manifests(&self.filename)?;
        let plan = Plan::new(&manifests)?;
        let applied = carry_out(context, &manifests, &plan, Mode::Compare).await?.applied;
        let differing = applied.iter().filter(|one| one.differs()).count();
        if differing == 0 {
            return show(context.format, &applied, |_| "nothing differs".to_owned());
        }
        show(context.format, &applied, |applied| differences(applied))?;
        Err(Failure::Refused(format!("{differing} of {} objects differ", applied.len())))
    }
}
