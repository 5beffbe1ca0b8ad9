//! The controllers from their start to their end, on the replica that leads.

use std::sync::Arc;
use std::time::Duration;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::label;
use assisted_kube::lease::{self, Leadership};
use assisted_service::Service;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::runtime::watcher::Config;
use kube::{Api, Client};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::agent::AgentReconciler;
use super::cache::{Cache, Writers};
use super::cluster::ClusterReconciler;
use super::hub::{Hub, Shared};
use super::infra_env::InfraEnvReconciler;
use super::install::InstallReconciler;
use super::queues::{Queues, work};
use super::watch::follow;
use super::{changes, marks};

/// Name of the lease by which one replica leads.
const LEASE: &str = "77190dcb.agent-install.openshift.io";
/// How long the objects of all kinds may take to be listed; kinds that are not defined never are.
const LISTING: Duration = Duration::from_secs(120);
/// Objects of a kind that are worked on at once.
const AT_ONCE: usize = 8;

/// How the controllers are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the lease stands.
    pub namespace: String,
    /// Name of this replica.
    pub identity: String,
    /// How long the others wait until they take over.
    pub lease_duration: Duration,
    /// How long renewing is tried.
    pub renew_deadline: Duration,
    /// Between two tries.
    pub retry_interval: Duration,
}

/// Why the controllers end before they are told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("another replica leads: this one has lost the lease {LEASE}")]
    LostLease,
    #[error(
        "objects of these kinds can't be listed: {0}; check that their definitions are installed, and who may read them"
    )]
    NotListed(String),
    #[error("a watch ended")]
    Ended,
}

/// Runs the controllers as soon as this replica leads, until stopped.
///
/// # Errors
/// The lease is lost, or objects can't be listed: the process must end, for nobody may go on with what it knows.
pub async fn run(
    client: Client,
    service: Service,
    options: Options,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let settings = lease::Settings {
        namespace: options.namespace,
        name: LEASE.to_owned(),
        identity: options.identity,
        duration: options.lease_duration,
        deadline: options.renew_deadline,
        retry: options.retry_interval,
    };
    let mut leadership = Leadership::new(client.clone(), settings);
    if !leadership.acquire(&stop).await {
        return Ok(());
    }
    tracing::info!("this replica leads: its controllers of the Kubernetes API are at work");
    let ended = tokio::select! {
        ended = lead(client, service, &stop) => ended,
        lost = leadership.keep(&stop) => if lost { Err(RunError::LostLease) } else { Ok(()) },
    };
    if let Err(error) = leadership.release().await {
        tracing::debug!(%error, "the lease is not given back; it runs out");
    }
    ended
}

async fn lead(client: Client, service: Service, stop: &CancellationToken) -> Result<(), RunError> {
    let (cache, writers) = Cache::new();
    let hub: Hub = Arc::new(Shared { client, service, cache, queues: Queues::new() });
    // Ends with this future.
    let mut tasks = JoinSet::new();
    watch(&hub, writers, &mut tasks);
    tokio::select! {
        listed = timeout(LISTING, listed(&hub)) => if listed.is_err() {
            return Err(RunError::NotListed(unlisted(&hub).await));
        },
        () = stop.cancelled() => return Ok(()),
    }
    let changing = Arc::clone(&hub);
    tasks.spawn(async move { changes::follow(&changing).await });
    let queues = &hub.queues;
    let working = async {
        tokio::join!(
            work(
                "cluster-deployments",
                Arc::clone(&queues.clusters),
                ClusterReconciler::new(&hub),
                AT_ONCE,
                stop.clone()
            ),
            work(
                "agent-cluster-installs",
                Arc::clone(&queues.installs),
                InstallReconciler::new(&hub),
                AT_ONCE,
                stop.clone()
            ),
            work(
                "infra-envs",
                Arc::clone(&queues.infra_envs),
                InfraEnvReconciler::new(&hub),
                AT_ONCE,
                stop.clone()
            ),
            work("agents", Arc::clone(&queues.agents), AgentReconciler::new(&hub), AT_ONCE, stop.clone()),
        );
    };
    tokio::select! {
        () = working => Ok(()),
        _ = tasks.join_next() => Err(RunError::Ended),
    }
}

async fn listed(hub: &Hub) {
    let cache = &hub.cache;
    // The writers live as long as the watches.
    let _ = tokio::join!(
        cache.cluster_deployments.wait_until_ready(),
        cache.installs.wait_until_ready(),
        cache.image_sets.wait_until_ready(),
        cache.infra_envs.wait_until_ready(),
        cache.nmstate_configs.wait_until_ready(),
        cache.agents.wait_until_ready(),
        cache.secrets.wait_until_ready(),
        cache.config_maps.wait_until_ready(),
    );
}

/// The kinds that are not listed yet.
async fn unlisted(hub: &Hub) -> String {
    let cache = &hub.cache;
    let mut kinds = Vec::new();
    let now = Duration::ZERO;
    macro_rules! check {
        ($($store:ident: $kind:literal),+ $(,)?) => {
            $(if timeout(now, cache.$store.wait_until_ready()).await.is_err() { kinds.push($kind); })+
        };
    }
    check!(
        cluster_deployments: "ClusterDeployment",
        installs: "AgentClusterInstall",
        image_sets: "ClusterImageSet",
        infra_envs: "InfraEnv",
        nmstate_configs: "NMStateConfig",
        agents: "Agent",
        secrets: "Secret",
        config_maps: "ConfigMap",
    );
    kinds.join(", ")
}

/// Starts a watch of each kind, and says what each change is about (kube-api §1.3).
fn watch(hub: &Hub, writers: Writers, tasks: &mut JoinSet<()>) {
    macro_rules! follow {
        ($kind:ty, $writer:ident, $config:expr, $changed:path) => {
            let (hub, writer) = (Arc::clone(hub), writers.$writer);
            let api: Api<$kind> = Api::all(hub.client.clone());
            tasks.spawn(async move {
                follow(api, $config, writer, |before, after| $changed(&hub, before, after)).await;
            });
        };
    }
    let labelled = || Config::default().labels(&format!("{}=true", label::WATCH));
    follow!(ClusterDeployment, cluster_deployments, Config::default(), marks::cluster_deployment);
    follow!(AgentClusterInstall, installs, Config::default(), marks::install);
    follow!(ClusterImageSet, image_sets, Config::default(), marks::image_set);
    follow!(InfraEnv, infra_envs, Config::default(), marks::infra_env);
    follow!(NMStateConfig, nmstate_configs, Config::default(), marks::nmstate_config);
    follow!(Agent, agents, Config::default(), marks::agent);
    follow!(Secret, secrets, labelled(), marks::secret);
    follow!(ConfigMap, config_maps, labelled(), marks::config_map);
}
