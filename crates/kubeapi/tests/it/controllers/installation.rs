//! A whole installation by manifests alone, with simulated hosts.

use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::label;
use assisted_service::event::ListEvents;
use assisted_simhost::drive::{self, Target};
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;
use assisted_simhost::world::Site as World;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::ClusterId;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::agent::{self, infra_env_id};
use super::cluster::{deployment, image_set, install};
use super::world::{Site, condition_of, shared, until, wait};

/// How long an installation may take.
const LIMIT: Duration = Duration::from_secs(300);
/// How long its hosts may take to get ready: less than a single object may.
const READY: Duration = Duration::from_secs(150);

/// What the Agents say of their hosts.
async fn hosts_say(site: &Site) -> String {
    let agents = site.api::<Agent>().list(&ListParams::default()).await.unwrap();
    let of = |agent: Agent| {
        let status = agent.status.unwrap_or_default();
        let conditions = status.conditions.iter();
        let conditions: Vec<_> =
            conditions.map(|condition| format!("{}: {}", condition.r#type, condition.message)).collect();
        let state = status.debug_info.map(|debug| debug.state);
        format!("{:?} is {state:?}: {}", agent.metadata.name, conditions.join("; "))
    };
    agents.into_iter().map(of).collect::<Vec<_>>().join("\n")
}

/// A cluster of three approved hosts that waits for somebody's word; and its hosts, which live in a time that goes by at this speed.
async fn held(site: &Site, speed: f64) -> (AgentClusterInstall, JoinHandle<()>) {
    site.pull_secret().await;
    image_set(site).await;
    let shape = Shape::of(Topology::Compact);
    let world = World::new(0, shape.needs().unwrap()).unwrap();
    let held = json!({
        "apiVIPs": [world.api().to_string()], "ingressVIPs": [world.ingress().to_string()], "holdInstallation": true,
    });
    deployment(site, "demo").await;
    install(site, "demo", held).await;
    let reference = json!({"clusterRef": {"name": "demo", "namespace": site.namespace}});
    site.infra_env("demo", reference).await;
    let infra_env = infra_env_id(site, "demo").await;
    let cluster = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster.id;

    let mut plan = Plan::new(shape, 1, speed).unwrap().with_existing(cluster, infra_env).unwrap();
    plan.version = "4.20".to_owned();
    plan.hosts_only = true;
    let target = Target::new(shared().address);
    let mut machines = tokio::spawn(async move {
        let mut simulation = Simulation::new(plan);
        drive::run(&mut simulation, &target, LIMIT, |_, _| true).await.unwrap();
    });

    // The hosts come, and wait for somebody's word.
    let agents = site.api::<Agent>();
    wait("not all hosts have Agents", || async { site.names::<Agent>().await.len() == 3 }).await;
    for name in site.names::<Agent>().await {
        let agent = until(&agents, &name, |agent: &Agent| {
            agent.status.as_ref().is_some_and(|status| status.inventory.is_some())
                && agent.labels().contains_key(label::CLUSTER_DEPLOYMENT_NAMESPACE)
        })
        .await;
        assert_eq!(agent.labels()[label::CLUSTER_DEPLOYMENT_NAMESPACE], site.namespace);
        site.merge::<Agent>(&name, json!({"spec": {"approved": true}})).await;
    }
    let installs = site.api();
    let ready = until(&installs, "demo", |object: &AgentClusterInstall| {
        condition_of(object, "RequirementsMet").0 == "ClusterIsReady"
            && condition_of(object, "Completed").0 == "InstallationOnHold"
    });
    let ready = tokio::select! {
        ready = ready => ready,
        ended = &mut machines => panic!("the simulated hosts ended before the cluster was ready: {ended:?}"),
        () = tokio::time::sleep(READY) => panic!("the cluster does not get ready: {}", hosts_say(site).await),
    };
    (ready, machines)
}

/// Gives the word.
async fn begin(site: &Site) {
    site.merge::<AgentClusterInstall>("demo", json!({"spec": {"holdInstallation": false}})).await;
    site.install_says("demo", "Completed", "InstallationInProgress").await;
}

/// The installation comes to its end.
async fn completed(site: &Site) -> AgentClusterInstall {
    tokio::time::timeout(LIMIT, async {
        loop {
            let object = site.api::<AgentClusterInstall>().get("demo").await.unwrap();
            if condition_of(&object, "Completed").0 == "InstallationCompleted" {
                return object;
            }
            assert_ne!(condition_of(&object, "Completed").0, "InstallationFailed", "{object:#?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await
    .unwrap()
}

/// The cluster takes in further hosts.
async fn opened(site: &Site) -> AgentClusterInstall {
    until(&site.api(), "demo", |object: &AgentClusterInstall| {
        let debug = object.status.as_ref().and_then(|status| status.debug_info.as_ref());
        debug.is_some_and(|debug| debug.state == "adding-hosts")
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_installed_and_removed_by_manifests_alone() {
    let site = Site::new("demo").await;
    // So that the installation lasts longer than what is written meanwhile.
    let (ready, machines) = held(&site, 60.0).await;
    assert_eq!(condition_of(&ready, "Validated").0, "ValidationsPassing");
    begin(&site).await;
    let (host, before) = Box::pin(what_is_written_does_not_hold_it_up(&site)).await;
    let installed = completed(&site).await;
    assert_eq!(condition_of(&installed, "Stopped").0, "InstallationCompleted");
    assert_eq!(
        condition_of(&installed, "LastInstallationPreparationFailed").0,
        "There is no failing prior preparation attempt"
    );
    assert_eq!(condition_of(&installed, "SpecSynced").0, "InputError");
    // Open for more hosts, with the credentials in place.
    let metadata = opened(&site).await.spec.cluster_metadata.unwrap();
    let row = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster;
    assert_eq!(
        (metadata.infra_id, metadata.cluster_id),
        (row.id.to_string(), row.openshift_cluster_id.unwrap().to_string())
    );
    let secrets = site.api::<Secret>();
    let kubeconfig = secrets.get("demo-admin-kubeconfig").await.unwrap();
    assert!(kubeconfig.data.unwrap().contains_key("kubeconfig"));
    let labels = kubeconfig.metadata.labels.unwrap();
    assert_eq!((labels[label::SECRET_TYPE].as_str(), labels[label::WATCH].as_str()), ("kubeconfig", "true"));
    let password = secrets.get("demo-admin-password").await.unwrap().data.unwrap();
    assert_eq!(password["username"].0, b"kubeadmin");
    assert!(!password["password"].0.is_empty());
    let agents = site.api::<Agent>();
    for name in site.names::<Agent>().await {
        until(&agents, &name, |agent: &Agent| {
            agent.status.as_ref().is_some_and(|status| {
                status.progress.as_ref().is_some_and(|progress| progress.current_stage == "Done")
            })
        })
        .await;
    }
    assert_eq!(row.status, ClusterStatus::AddingHosts);
    site.merge::<AgentClusterInstall>("demo", platform(None)).await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    assert_eq!(requested(&site, host).await, before);
    machines.abort();

    site.delete::<ClusterDeployment>("demo").await;
    site.gone::<AgentClusterInstall>("demo").await;
    site.gone::<ClusterDeployment>("demo").await;
    wait("Agents of the cluster stay", || async { site.names::<Agent>().await.is_empty() }).await;
    assert!(site.service.clusters().of_object(&site.key("demo")).await.unwrap().is_none());
    site.delete::<InfraEnv>("demo").await;
    site.gone::<InfraEnv>("demo").await;
}

/// What an Agent says of what is wanted of it.
fn synced(agent: &Agent) -> &str {
    let mut conditions = agent.status.iter().flat_map(|status| &status.conditions);
    let found = conditions.find(|condition| condition.r#type == "SpecSynced");
    found.map_or("", |condition| condition.message.as_str())
}

/// A change of the platform.
fn platform(name: Option<&str>) -> Value {
    json!({"spec": {"platformType": name}})
}

/// The name that a host is to have, and its cluster.
type Requested = (String, Option<ClusterId>);

async fn requested(site: &Site, host: HostKey) -> Requested {
    let found = site.service.hosts().described(host).await.unwrap().unwrap();
    (found.host.requested_hostname, found.host.cluster_id)
}

/// While the cluster installs, objects are written. What is left contradicts itself; and a host is as it was before.
async fn what_is_written_does_not_hold_it_up(site: &Site) -> (HostKey, Requested) {
    // A host can't leave; and the name that it is to have comes too late.
    let agents = site.api::<Agent>();
    let bootstrap = |agent: Agent| {
        let is_bootstrap = agent.status.as_ref().is_some_and(|status| status.bootstrap == Some(true));
        (is_bootstrap && agent::state(&agent).starts_with("installing")).then(|| agent.name_any())
    };
    let find = async || {
        let all = agents.list(&ListParams::default()).await.unwrap();
        all.into_iter().find_map(bootstrap)
    };
    wait("no host is the bootstrap", || async { find().await.is_some() }).await;
    let name = find().await.unwrap();
    let host = HostKey { infra_env_id: infra_env_id(site, "demo").await, host_id: name.parse().unwrap() };
    let before = requested(site, host).await;
    let late = json!({"spec": {"hostname": "late.example.com", "clusterDeploymentName": null}});
    site.merge::<Agent>(&name, late).await;
    until(&agents, &name, |agent: &Agent| {
        agent::condition_of(agent, "SpecSynced").1 == "InputError"
            && synced(agent).contains("in the middle of installation is not allowed")
    })
    .await;
    let stays = json!({"spec": {"clusterDeploymentName": {"name": "demo", "namespace": site.namespace}}});
    site.merge::<Agent>(&name, stays).await;
    until(&agents, &name, |agent: &Agent| agent::condition_of(agent, "SpecSynced").1 == "SyncOK").await;
    assert_eq!(requested(site, host).await, before);

    // The cluster keeps what it is installed with.
    let domain = |name: &str| json!({"spec": {"baseDomain": name}});
    site.merge::<ClusterDeployment>("demo", domain("example.org")).await;
    let refused = site.install_says("demo", "SpecSynced", "InputError").await;
    let text = condition_of(&refused, "SpecSynced").1;
    assert!(text.contains("state, cluster can be updated only in one of"), "{text}");
    assert_eq!(condition_of(&refused, "Completed").0, "InstallationInProgress");
    let row = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster;
    assert_eq!(row.base_dns_domain, "example.com");
    site.merge::<ClusterDeployment>("demo", domain("example.com")).await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    // Nobody mends what contradicts itself until the installation is over.
    site.merge::<AgentClusterInstall>("demo", platform(Some("External"))).await;
    let refused = site.install_says("demo", "SpecSynced", "InputError").await;
    let text = condition_of(&refused, "SpecSynced").1;
    assert!(text.contains("external platform spec must be set"), "{text}");
    assert_eq!(condition_of(&refused, "Completed").0, "InstallationInProgress");
    (host, before)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_is_cancelled_with_its_object_and_another_begins_anew() {
    let site = Site::new("cancelled").await;
    let (_, machines) = held(&site, 120.0).await;
    begin(&site).await;
    let row = async || {
        let found = site.service.clusters().of_object(&site.key("demo")).await.unwrap();
        found.map(|found| found.cluster.id)
    };
    let first = row().await.unwrap();
    machines.abort();
    site.delete::<AgentClusterInstall>("demo").await;
    site.gone::<AgentClusterInstall>("demo").await;
    assert_eq!(row().await, None);
    let query = ListEvents { cluster_id: Some(first), ..ListEvents::default() };
    let events = site.service.events().list(&site.caller(), query).await.unwrap().events.0;
    assert!(events.iter().any(|event| event.name == "cluster_installation_canceled"), "{events:#?}");
    wait("Agents of the cluster stay", || async { site.names::<Agent>().await.is_empty() }).await;

    install(&site, "demo", json!({})).await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    site.install_says("demo", "Completed", "InstallationNotStarted").await;
    assert_ne!(row().await.unwrap(), first);
}
