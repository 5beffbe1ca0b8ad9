//! The operator as a process: it leads or waits, and looks whenever something that it made or reads has changed.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::cluster_management::managed_cluster::ManagedCluster;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::lease::{self, Led, Settings};
use assisted_reconcile::{Driver, MemoryQueue, Policy, Status};
use futures::stream::{self, Stream, StreamExt};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::apply::KINDS;
use super::environment::Environment;
use super::gather::{MANAGED_NAMESPACE, is_openshift};
use super::reconcile::Operator;
use super::{CONFIG, INGRESS_AUTHORITIES, MANAGED_BY, local_cluster};

/// Name of the lease.
const LEASE: &str = "86f835c3.agent-install.openshift.io";

/// How long changes are gathered before a look: what is applied comes back as changes.
const GATHER: SignedDuration = SignedDuration::from_millis(300);

/// Name of the definition of the clusters that a hub manages.
const MANAGED_CLUSTERS: &str = "managedclusters.cluster.open-cluster-management.io";

/// A look without a cause.
const REST: Duration = Duration::from_secs(10 * 60 * 60);

const POLICY: Policy = Policy {
    at_once: 1,
    time_limit: Duration::from_secs(120),
    keep: Duration::from_secs(30),
    backoff: Backoff {
        first: Duration::from_secs(1),
        longest: Duration::from_secs(120),
        jitter: Jitter::Half,
    },
    most_failures: u32::MAX,
    most_crashes: 5,
    aside: Duration::from_secs(600),
    longest_rest: REST,
    shortest_rest: Duration::from_millis(100),
    give_back: true,
};

const LEASE_TIME: SignedDuration = SignedDuration::from_secs(90);

/// Works until `stop`. Of several replicas one works, and the others wait; one that has lost the lease waits for it again.
///
/// # Errors
/// The API server can't be asked what cluster this is: the process is to end.
pub async fn run(
    client: Client,
    environment: Environment,
    identity: &str,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let settings = Settings {
        namespace: environment.namespace.clone(),
        identity: identity.to_owned(),
        duration: Duration::from_secs(30),
        deadline: Duration::from_secs(20),
        retry: Duration::from_secs(4),
    };
    loop {
        let work = || work(client.clone(), environment.clone(), stop.clone());
        match Box::pin(lease::lead(client.clone(), LEASE, settings.clone(), &stop, work)).await {
            Led::Never | Led::Stopped => return Ok(()),
            Led::Ended(ended) => return ended,
            Led::Lost => tracing::warn!(lease = LEASE, "the lease is lost: waiting to lead again"),
        }
    }
}

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the API server can't be asked")]
    Api(#[from] kube::Error),
    #[error("a task ended: {0}")]
    Task(String),
}

/// Works without asking who leads.
///
/// # Errors
/// The API server can't be asked what cluster this is.
pub async fn work(client: Client, environment: Environment, stop: CancellationToken) -> Result<(), RunError> {
    let openshift = is_openshift(&client).await?;
    let queue = Arc::new(MemoryQueue::new(LEASE_TIME, Timestamp::now));
    let operator = Arc::new(Operator::new(client.clone(), environment.clone(), openshift));
    let status = Arc::new(Status::new("operator"));
    let driver = Driver::new(Arc::clone(&queue), operator, POLICY, status);
    let mut tasks = JoinSet::new();
    tasks.spawn(driver.run(stop.clone()));
    let mut changes = configs(&client);
    let manages_clusters = openshift && has_managed_clusters(&client).await?;
    let mut others = others(&client, &environment.namespace, openshift, manages_clusters);
    loop {
        tokio::select! {
            // First: what works ends by it, too, and that is no failure.
            biased;
            () = stop.cancelled() => break,
            Some(ended) = tasks.join_next() => {
                return Err(RunError::Task(format!("{ended:?}")));
            }
            Some(name) = changes.next() => queue.mark(name, Timestamp::now()),
            Some(()) = others.next() => {
                let at = Timestamp::now().checked_add(GATHER).unwrap_or(Timestamp::MAX);
                queue.mark(CONFIG.to_owned(), at);
            }
        }
    }
    while tasks.join_next().await.is_some() {}
    Ok(())
}

type Changes<T> = Pin<Box<dyn Stream<Item = T> + Send>>;

/// Names of AgentServiceConfigs that changed.
fn configs(client: &Client) -> Changes<String> {
    let api: Api<PartialObjectMeta<AgentServiceConfig>> = Api::all(client.clone());
    let changed =
        watcher(api, watcher::Config::default()).default_backoff().filter_map(async |event| match event {
            Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) => {
                Some(object.name_any())
            }
            Ok(_) => None,
            Err(error) => {
                tracing::debug!(%error, "a watch is begun anew");
                None
            }
        });
    changed.boxed()
}

/// Changes of what the operator made, and of what it reads.
fn others(client: &Client, namespace: &str, openshift: bool, manages_clusters: bool) -> Changes<()> {
    let labelled = format!("{}={}", MANAGED_BY.0, MANAGED_BY.1);
    let mut all = Vec::new();
    for kind in KINDS {
        let is_of_openshift = kind.group == "route.openshift.io" || kind.group == "monitoring.coreos.com";
        if is_of_openshift && !openshift {
            continue;
        }
        // What users write is read by its name, which no label tells.
        let config = match kind.kind {
            "ConfigMap" | "Secret" => watcher::Config::default(),
            _ => watcher::Config::default().labels(&labelled),
        };
        all.push(changes(kind.api(client, namespace), config));
    }
    if openshift {
        let managed = KINDS.iter().find(|kind| kind.kind == "ConfigMap");
        all.extend(managed.map(|kind| {
            let own = watcher::Config::default().fields(&format!("metadata.name={INGRESS_AUTHORITIES}"));
            changes(kind.api(client, MANAGED_NAMESPACE), own)
        }));
    }
    if manages_clusters {
        let own = watcher::Config::default().labels("local-cluster=true");
        all.push(changes(Api::<PartialObjectMeta<ManagedCluster>>::all(client.clone()), own));
        let marked = format!("{}={}", local_cluster::MARK.0, local_cluster::MARK.1);
        let marked = watcher::Config::default().labels(&marked);
        let deployments = Api::<PartialObjectMeta<ClusterDeployment>>::all(client.clone());
        all.push(changes(deployments, marked.clone()));
        let installs = Api::<PartialObjectMeta<AgentClusterInstall>>::all(client.clone());
        all.push(changes(installs, marked.clone()));
        all.push(changes(Api::<PartialObjectMeta<InfraEnv>>::all(client.clone()), marked));
    }
    stream::select_all(all).boxed()
}

/// Whether the cluster is a hub that manages clusters.
async fn has_managed_clusters(client: &Client) -> Result<bool, kube::Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    Ok(api.get_opt(MANAGED_CLUSTERS).await?.is_some())
}

fn changes<K>(api: Api<K>, config: watcher::Config) -> Changes<()>
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let changed = watcher(api, config).default_backoff().filter_map(async |event| match event {
        Ok(Event::Apply(_) | Event::InitApply(_) | Event::Delete(_)) => Some(()),
        _ => None,
    });
    changed.boxed()
}
