//! The controllers from their start to their end, on the replica that leads.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::process::Cmd;
use assisted_base::retry::{Backoff, Jitter};
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent_classification::AgentClassification;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::label;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_crd::metal3::preprovisioning_image::PreprovisioningImage;
use assisted_kube::lease::{self, Led};
use assisted_kube::watch::follow;
use assisted_service::Service;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::runtime::watcher::Config;
use kube::{Api, Client};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::agent::AgentReconciler;
use super::bare_metal_host::BareMetalHostReconciler;
use super::cache::{Cache, Writers};
use super::classification::{AgentLabelReconciler, ClassificationReconciler};
use super::cluster::ClusterReconciler;
use super::flow::{self, Flow};
use super::hub::{Hub, Shared};
use super::index::Index;
use super::infra_env::InfraEnvReconciler;
use super::install::InstallReconciler;
use super::preprovisioning_image::PreprovisioningImageReconciler;
use super::queues::{Queues, work};
use super::spoke::{SpokeReconciler, Spokes};
use super::synced::Synced;
use super::{changes, marks};

/// Name of the lease by which one replica leads.
const LEASE: &str = "77190dcb.agent-install.openshift.io";
/// How long the objects of all kinds may take to be listed; kinds that are not defined never are.
const LISTING: Duration = Duration::from_secs(120);
/// Between two questions which kinds of metal3 are defined.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(8), jitter: Jitter::Half };

/// How the controllers are run.
#[derive(Clone, Debug)]
pub struct Options {
    pub lease: lease::Settings,
    /// How long a new image rests before BareMetalHosts boot it, so that one that changes several times in a row is booted once.
    pub image_cool_down: Duration,
    /// A program that answers the queries of AgentClassifications: it runs [`crate::classification::serve`].
    pub queries: Cmd,
}

/// Why the controllers end before they are told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(
        "objects of these kinds can't be listed: {0}; check that their definitions are installed, and who may read them"
    )]
    NotListed(String),
    #[error("which kinds of metal3 are looked after can't be found out: {0}")]
    Undefined(String),
    #[error("a watch ended")]
    Ended,
}

/// Runs the controllers whenever this replica leads, until stopped. When the lease is lost, because another replica leads or because the
/// API server was away for too long, all that is known of objects is forgotten; the service itself goes on, and hosts with it.
///
/// # Errors
/// Objects can't be listed.
pub async fn run(
    client: Client,
    service: Service,
    options: Options,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let cool_down = SignedDuration::try_from(options.image_cool_down).unwrap_or(SignedDuration::MAX);
    loop {
        let work = || lead(client.clone(), service.clone(), cool_down, options.queries.clone(), &stop);
        match Box::pin(lease::lead(client.clone(), LEASE, options.lease.clone(), &stop, work)).await {
            Led::Never | Led::Stopped => return Ok(()),
            Led::Ended(ended) => return ended,
            Led::Lost => tracing::warn!(lease = LEASE, "the lease is lost: waiting to lead again"),
        }
    }
}

async fn lead(
    client: Client,
    service: Service,
    cool_down: SignedDuration,
    answers: Cmd,
    stop: &CancellationToken,
) -> Result<(), RunError> {
    let flow = found(&client, &service).await?;
    let (cache, writers) = Cache::new();
    let hub: Hub = Arc::new(Shared {
        client,
        service,
        cache,
        index: Index::default(),
        is_converged: flow == Flow::Converged,
        queues: Queues::new(),
        spokes: Spokes::default(),
        synced: Synced::default(),
    });
    // Ends with this future.
    let mut tasks = JoinSet::new();
    watch(&hub, writers, flow, &mut tasks);
    tokio::select! {
        unlisted = unlisted(&hub) => if !unlisted.is_empty() {
            return Err(RunError::NotListed(unlisted));
        },
        () = stop.cancelled() => return Ok(()),
    }
    let changing = Arc::clone(&hub);
    tasks.spawn(async move { changes::follow(&changing).await });
    let queues = &hub.queues;
    let working = async {
        tokio::join!(
            work("cluster-deployments", &queues.clusters, ClusterReconciler::new(&hub), stop),
            work("agent-cluster-installs", &queues.installs, InstallReconciler::new(&hub), stop),
            work("infra-envs", &queues.infra_envs, InfraEnvReconciler::new(&hub), stop),
            work("agents", &queues.agents, AgentReconciler::new(&hub), stop),
            work("agent-labels", &queues.agent_labels, AgentLabelReconciler::new(&hub, &answers), stop),
            work("agent-classifications", &queues.classifications, ClassificationReconciler::new(&hub), stop),
            work(
                "bare-metal-hosts",
                &queues.bare_metal_hosts,
                BareMetalHostReconciler::new(&hub, cool_down),
                stop
            ),
            work(
                "preprovisioning-images",
                &queues.preprovisioning_images,
                PreprovisioningImageReconciler::new(&hub, cool_down),
                stop
            ),
            work("spokes", &queues.spokes, SpokeReconciler::new(&hub), stop),
        );
    };
    tokio::select! {
        () = working => Ok(()),
        _ = tasks.join_next() => Err(RunError::Ended),
    }
}

/// How machines come to run images. An API server that has just gone, or has just come and can't judge rights yet, is asked again: where
/// it stays away, the lease is lost, and with it whoever waits here.
async fn found(client: &Client, service: &Service) -> Result<Flow, RunError> {
    let deadline = Instant::now() + LISTING;
    let mut failures = 0;
    loop {
        let error = match timeout_at(deadline, flow::find(client, service)).await {
            Ok(Ok(flow)) => return Ok(flow),
            Ok(Err(error)) => error,
            Err(_) => format!("no answer within {} s", LISTING.as_secs()),
        };
        failures += 1;
        let pause = BACKOFF.pause(failures);
        if Instant::now() + pause >= deadline {
            return Err(RunError::Undefined(error));
        }
        tracing::warn!(%error, "which kinds of metal3 are looked after can't be found out yet");
        sleep(pause).await;
    }
}

/// The kinds that are not listed in time. One that is not looked after has no writer, and is not waited for.
async fn unlisted(hub: &Hub) -> String {
    let (cache, deadline) = (&hub.cache, Instant::now() + LISTING);
    let mut kinds = Vec::new();
    macro_rules! check {
        ($($store:ident: $kind:literal),+ $(,)?) => {
            $(if timeout_at(deadline, cache.$store.wait_until_ready()).await.is_err() { kinds.push($kind); })+
        };
    }
    check!(
        cluster_deployments: "ClusterDeployment",
        installs: "AgentClusterInstall",
        image_sets: "ClusterImageSet",
        infra_envs: "InfraEnv",
        nmstate_configs: "NMStateConfig",
        agents: "Agent",
        classifications: "AgentClassification",
        bare_metal_hosts: "BareMetalHost",
        preprovisioning_images: "PreprovisioningImage",
        secrets: "Secret",
        config_maps: "ConfigMap",
    );
    kinds.join(", ")
}

/// Starts a watch of each kind, and says what each change is about (kube-api §1.3).
fn watch(hub: &Hub, writers: Writers, flow: Flow, tasks: &mut JoinSet<()>) {
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
    if flow != Flow::None {
        follow!(BareMetalHost, bare_metal_hosts, Config::default(), marks::bare_metal_host);
    }
    if flow == Flow::Converged {
        let of_infra_envs = Config::default().labels(label::INFRA_ENV);
        follow!(PreprovisioningImage, preprovisioning_images, of_infra_envs, marks::preprovisioning_image);
    }
    follow!(AgentClassification, classifications, Config::default(), marks::classification);
    follow!(Secret, secrets, labelled(), marks::secret);
    follow!(ConfigMap, config_maps, labelled(), marks::config_map);
}
