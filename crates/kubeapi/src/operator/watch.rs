//! The operator as a process: it leads or waits, and looks whenever something that it made or reads has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_crd::agent_install::hypershift_agent_service_config::HypershiftAgentServiceConfig;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::cluster_management::managed_cluster::ManagedCluster;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::cache::key;
use assisted_kube::lease::{self, Led, Settings};
use assisted_kube::watch::{converted, events};
use assisted_reconcile::{Driver, MemoryQueue, Policy, Status};
use futures::stream::{self, AbortHandle, SelectAll, Stream, StreamExt, abortable};
use jiff::{SignedDuration, Timestamp};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::apply::{KINDS, Kind};
use super::environment::Environment;
use super::gather::{MANAGED_NAMESPACE, has_kind, is_openshift};
use super::reconcile::Operator;
use super::{CONFIG, INGRESS_AUTHORITIES, MANAGED_BY, local_cluster};
use crate::webhook_server::profile;

/// Name of the lease.
const LEASE: &str = "86f835c3.agent-install.openshift.io";

/// How long changes are gathered before a look: what is applied comes back as changes.
const GATHER: SignedDuration = SignedDuration::from_millis(300);

/// Name of the definition of the clusters that a hub manages.
const MANAGED_CLUSTERS: &str = "managedclusters.cluster.open-cluster-management.io";
/// Name of the definition of HypershiftAgentServiceConfigs.
const HOSTED: &str = "hypershiftagentserviceconfigs.agent-install.openshift.io";

/// A look without a cause.
const REST: Duration = Duration::from_secs(10 * 60 * 60);

const POLICY: Policy = Policy {
    // One whose cluster is away holds up no other.
    at_once: 4,
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
    let queue: Arc<MemoryQueue<ObjectKey>> = Arc::new(MemoryQueue::new(LEASE_TIME, Timestamp::now));
    let operator = Arc::new(Operator::new(client.clone(), environment.clone(), openshift));
    let status = Arc::new(Status::new("operator"));
    let driver = Driver::new(Arc::clone(&queue), operator, POLICY, status);
    let mut tasks = JoinSet::new();
    tasks.spawn(driver.run(stop.clone()));
    let own = || ObjectKey::new("", CONFIG);
    let mut configs = names(Api::<PartialObjectMeta<AgentServiceConfig>>::all(client.clone()));
    let mut hosted: Changes<Event<ObjectKey>> = if has_kind(&client, HOSTED).await? {
        names(Api::<PartialObjectMeta<HypershiftAgentServiceConfig>>::all(client.clone()))
    } else {
        stream::pending().boxed()
    };
    // Which TLS is spoken concerns everything that runs, wherever it does.
    let mut spoken: Changes<()> =
        if openshift { changes(profile::api(&client), profile::only()) } else { stream::pending().boxed() };
    let manages_clusters = openshift && has_kind(&client, MANAGED_CLUSTERS).await?;
    let mut places = Places::default();
    let all = of_hub(&client, &environment.namespace, openshift, manages_clusters);
    let mut others: SelectAll<Changes<ObjectKey>> = SelectAll::new();
    others.push(all.map(move |()| own()).boxed());
    loop {
        tokio::select! {
            // First: what works ends by it, too, and that is no failure.
            biased;
            () = stop.cancelled() => break,
            Some(ended) = tasks.join_next() => {
                return Err(RunError::Task(format!("{ended:?}")));
            }
            Some(event) = configs.next() => {
                if let Event::Apply(key) | Event::InitApply(key) | Event::Delete(key) = event {
                    queue.mark(key, Timestamp::now());
                }
            }
            Some(event) = hosted.next() => {
                if let Some(key) = places.note(event, &mut others, |namespace| of_namespace(&client, namespace, openshift)) {
                    queue.mark(key, Timestamp::now());
                }
            }
            Some(key) = others.next() => queue.mark(key, gathered()),
            Some(()) = spoken.next() => {
                for key in places.watched.keys().cloned().chain([own()]) {
                    queue.mark(key, gathered());
                }
            }
        }
    }
    while tasks.join_next().await.is_some() {}
    Ok(())
}

/// When a change is looked at.
fn gathered() -> Timestamp {
    Timestamp::now().checked_add(GATHER).unwrap_or(Timestamp::MAX)
}

type Changes<T> = Pin<Box<dyn Stream<Item = T> + Send>>;

/// The namespaces of hosted control planes, each with what ends its watches.
#[derive(Default)]
struct Places {
    watched: BTreeMap<ObjectKey, AbortHandle>,
    /// While all are listed: those that were not seen yet.
    unseen: BTreeSet<ObjectKey>,
}

impl Places {
    /// Notes an object that is there or not; the one that is to be looked at.
    fn note(
        &mut self,
        event: Event<ObjectKey>,
        others: &mut SelectAll<Changes<ObjectKey>>,
        watch: impl Fn(&str) -> Changes<()>,
    ) -> Option<ObjectKey> {
        match event {
            Event::Init => {
                self.unseen = self.watched.keys().cloned().collect();
                None
            }
            Event::InitDone => {
                for gone in std::mem::take(&mut self.unseen) {
                    self.end(&gone);
                }
                None
            }
            Event::Delete(key) => {
                self.end(&key);
                Some(key)
            }
            Event::Apply(key) | Event::InitApply(key) => {
                self.unseen.remove(&key);
                if !self.watched.contains_key(&key) {
                    let (own, (changed, end)) = (key.clone(), abortable(watch(&key.namespace)));
                    others.push(changed.map(move |()| own.clone()).boxed());
                    self.watched.insert(key.clone(), end);
                }
                Some(key)
            }
        }
    }

    fn end(&mut self, key: &ObjectKey) {
        if let Some(watched) = self.watched.remove(key) {
            watched.abort();
        }
    }
}

/// What happens to the objects of a kind, by their names.
fn names<K>(api: Api<K>) -> Changes<Event<ObjectKey>>
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + Send
        + 'static,
{
    let changed = events(api, watcher::Config::default());
    let changed = changed.map(|event| converted(event, |object| key(&object)));
    changed.boxed()
}

/// Changes in the namespace of a hosted control plane.
fn of_namespace(client: &Client, namespace: &str, openshift: bool) -> Changes<()> {
    stream::select_all(made(client, namespace, openshift, |kind| kind.is_namespaced)).boxed()
}

/// Changes of what the operator made in a namespace, of these kinds, and of what it reads there.
fn made(
    client: &Client,
    namespace: &str,
    openshift: bool,
    is_watched: impl Fn(&Kind) -> bool,
) -> Vec<Changes<()>> {
    let labelled = format!("{}={}", MANAGED_BY.0, MANAGED_BY.1);
    let mut all = Vec::new();
    for kind in KINDS.iter().filter(|kind| is_watched(kind)) {
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
    all
}

/// Changes of what the operator made for the hub, and of what it reads.
fn of_hub(client: &Client, namespace: &str, openshift: bool, manages_clusters: bool) -> Changes<()> {
    let mut all = made(client, namespace, openshift, |_| true);
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

fn changes<K>(api: Api<K>, config: watcher::Config) -> Changes<()>
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let changed = events(api, config).filter_map(async |event| match event {
        Event::Apply(_) | Event::InitApply(_) | Event::Delete(_) => Some(()),
        Event::Init | Event::InitDone => None,
    });
    changed.boxed()
}
