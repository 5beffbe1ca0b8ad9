//! A whole installation by manifests alone, with simulated hosts.

use std::time::Duration;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::label;
use assisted_simhost::drive::{self, Target};
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;
use assisted_simhost::world::Site as World;
use assisted_wire::cluster::ClusterStatus;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

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

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_installed_and_removed_by_manifests_alone() {
    let site = Site::new("demo").await;
    site.pull_secret().await;
    image_set(&site).await;
    let shape = Shape::of(Topology::Compact);
    let world = World::new(0, shape.needs().unwrap()).unwrap();
    let held = json!({
        "apiVIPs": [world.api().to_string()], "ingressVIPs": [world.ingress().to_string()], "holdInstallation": true,
    });
    deployment(&site, "demo").await;
    install(&site, "demo", held).await;
    let reference = json!({"clusterRef": {"name": "demo", "namespace": site.namespace}});
    site.infra_env("demo", reference).await;
    until(&site.api(), "demo", |object: &InfraEnv| {
        object.status.as_ref().is_some_and(|status| !status.iso_download_url.is_empty())
    })
    .await;
    let cluster = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster.id;
    let infra_env =
        site.service.infra_envs().of_object(&site.key("demo")).await.unwrap().unwrap().infra_env.id;

    let mut plan = Plan::new(shape, 1, 120.0).unwrap().with_existing(cluster, infra_env).unwrap();
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
        () = tokio::time::sleep(READY) => panic!("the cluster does not get ready: {}", hosts_say(&site).await),
    };
    assert_eq!(condition_of(&ready, "Validated").0, "ValidationsPassing");
    site.merge::<AgentClusterInstall>("demo", json!({"spec": {"holdInstallation": false}})).await;

    site.install_says("demo", "Completed", "InstallationInProgress").await;
    let installed = tokio::time::timeout(LIMIT, async {
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
    .unwrap();
    assert_eq!(condition_of(&installed, "Stopped").0, "InstallationCompleted");
    assert_eq!(
        condition_of(&installed, "LastInstallationPreparationFailed").0,
        "There is no failing prior preparation attempt"
    );
    // Open for more hosts, with the credentials in place.
    let opened = until(&site.api(), "demo", |object: &AgentClusterInstall| {
        let debug = object.status.as_ref().and_then(|status| status.debug_info.as_ref());
        debug.is_some_and(|debug| debug.state == "adding-hosts")
    })
    .await;
    let metadata = opened.spec.cluster_metadata.unwrap();
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
    for name in site.names::<Agent>().await {
        until(&agents, &name, |agent: &Agent| {
            agent.status.as_ref().is_some_and(|status| {
                status.progress.as_ref().is_some_and(|progress| progress.current_stage == "Done")
            })
        })
        .await;
    }
    assert_eq!(row.status, ClusterStatus::AddingHosts);
    machines.abort();

    site.delete::<ClusterDeployment>("demo").await;
    site.gone::<AgentClusterInstall>("demo").await;
    site.gone::<ClusterDeployment>("demo").await;
    wait("Agents of the cluster stay", || async { site.names::<Agent>().await.is_empty() }).await;
    assert!(site.service.clusters().of_object(&site.key("demo")).await.unwrap().is_none());
    site.delete::<InfraEnv>("demo").await;
    site.gone::<InfraEnv>("demo").await;
}
