//! Hosts and nodes that are let be when something else goes, or is in the way (kube-api §14, behaviours 4, 5 and 9).

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::labels::{finalizer, label};
use assisted_kube::error::optional;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::agent::{boot, infra_env_id, register, report_sufficient, state};
use super::spoke::{Spoke, define_machines, joins, reboots, taken_in};
use super::world::{Site, until, wait};

/// Keeps an object that is deleted.
const HOLD: &str = "test.example.com/hold";

/// A host of the pool becomes a node.
async fn joined(site: &Site, spoke: &Spoke, pool: &str, node: &str) -> HostKey {
    let host = register(site, infra_env_id(site, pool).await).await;
    let (agents, id) = (site.api::<Agent>(), host.host_id.to_string());
    report_sufficient(site, host).await;
    until(&agents, &id, |agent: &Agent| state(agent) == "known-unbound").await;
    let reference = json!({"name": "demo", "namespace": site.namespace});
    site.merge::<Agent>(&id, json!({"spec": {"clusterDeploymentName": reference, "role": "worker"}})).await;
    until(&agents, &id, |agent: &Agent| state(agent) == "binding").await;
    boot(site, host).await;
    reboots(site, host, json!({"approved": true, "hostname": node})).await;
    joins(site, spoke, host, node, node).await;
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_a_machine_is_not_reclaimed_and_a_node_stays_when_its_infra_env_goes() {
    let site = Site::new("staying").await;
    let spoke = Spoke::lease().await;
    define_machines(&spoke.hub);
    taken_in(&site, &spoke.kubeconfig()).await;
    site.infra_env("pool", json!({"cpuArchitecture": "x86_64"})).await;
    let agents = site.api::<Agent>();

    // metal3 boots the machine: nobody else has to.
    let machine = joined(&site, &spoke, "pool", "worker-1").await;
    let id = machine.host_id.to_string();
    site.merge::<Agent>(&id, json!({"metadata": {"labels": {(label::BARE_METAL_HOST): "worker-1"}}})).await;
    site.merge::<Agent>(&id, json!({"spec": {"clusterDeploymentName": null}})).await;
    until(&agents, &id, |agent: &Agent| state(agent) == "unbinding-pending-user-action").await;
    let sets = Api::<DaemonSet>::all(spoke.client()).list(&ListParams::default()).await.unwrap();
    assert!(sets.items.is_empty(), "{sets:#?}");

    // An InfraEnv goes, and takes its hosts along: the cluster that they became part of runs on.
    let other = joined(&site, &spoke, "pool", "worker-2").await;
    let id = other.host_id.to_string();
    let pool = site.api::<InfraEnv>().get("pool").await.unwrap();
    let mut finalizers = pool.finalizers().to_vec();
    assert_eq!(finalizers, [finalizer::INFRA_ENV]);
    finalizers.push(HOLD.to_owned());
    site.merge::<InfraEnv>("pool", json!({"metadata": {"finalizers": finalizers}})).await;
    site.delete::<InfraEnv>("pool").await;
    wait("the host stays", || async { site.service.hosts().described(other).await.unwrap().is_none() }).await;
    site.delete::<Agent>(&id).await;
    site.gone::<Agent>(&id).await;
    let node = Api::<Node>::all(spoke.client()).get("worker-2").await;
    assert!(optional(node).unwrap().is_some(), "the node went with its InfraEnv");
    site.merge::<InfraEnv>("pool", json!({"metadata": {"finalizers": null}})).await;
    site.gone::<InfraEnv>("pool").await;
}

/// Why a cluster can't help a host to leave.
#[derive(Clone, Copy, Debug)]
enum Obstacle {
    /// The kubeconfig is none.
    Text,
    /// Its user may do nothing.
    Rights,
    Secret,
    Deployment,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_leaves_a_cluster_that_does_not_reclaim_it() {
    let site = Site::new("unreclaimed").await;
    let spoke = Spoke::lease().await;
    taken_in(&site, &spoke.kubeconfig()).await;
    site.infra_env("pool", json!({"cpuArchitecture": "x86_64"})).await;
    let agents = site.api::<Agent>();
    let kubeconfig = |text: &str| json!({"metadata": {}, "stringData": {"kubeconfig": text}});
    for obstacle in [Obstacle::Text, Obstacle::Rights, Obstacle::Secret, Obstacle::Deployment] {
        let node = format!("worker-{obstacle:?}").to_lowercase();
        let id = joined(&site, &spoke, "pool", &node).await.host_id.to_string();
        match obstacle {
            Obstacle::Text => drop(site.merge::<Secret>("admin", kubeconfig("none")).await),
            Obstacle::Rights => {
                let stranger = spoke.hub.kube.kubeconfig_of("stranger", &["system:authenticated"]);
                site.merge::<Secret>("admin", kubeconfig(&stranger)).await;
            }
            Obstacle::Secret => site.delete::<Secret>("admin").await,
            Obstacle::Deployment => site.remove_by_force::<ClusterDeployment>("demo").await,
        }
        site.merge::<Agent>(&id, json!({"spec": {"clusterDeploymentName": null}})).await;
        until(&agents, &id, |agent: &Agent| state(agent) == "unbinding-pending-user-action").await;
        match obstacle {
            Obstacle::Text | Obstacle::Rights => {
                site.merge::<Secret>("admin", kubeconfig(&spoke.kubeconfig())).await;
            }
            Obstacle::Secret => {
                site.create::<Secret>("admin", kubeconfig(&spoke.kubeconfig())).await;
            }
            Obstacle::Deployment => {}
        }
    }
    let sets = Api::<DaemonSet>::all(spoke.client()).list(&ListParams::default()).await.unwrap();
    assert!(sets.items.is_empty(), "{sets:#?}");
}
