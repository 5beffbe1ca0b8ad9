//! Objects that belong together are deleted in any order, and finalizers whose keeper is dead.

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent_classification::AgentClassification;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::finalizer as names;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use super::super::agent::{condition_of, infra_env_id, register};
use super::super::cluster::{deployment, image_set, install};
use super::super::world::{Site, until};
use crate::controllers::own_hub::OwnHub;

/// What is deleted of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Deployment,
    Install,
    InfraEnv,
    Agent,
}

const PARTS: [Part; 4] = [Part::Deployment, Part::Install, Part::InfraEnv, Part::Agent];

/// All orders of the parts.
fn orders() -> Vec<[Part; 4]> {
    let mut orders = Vec::new();
    for number in 0..256_usize {
        let order = [number & 3, (number >> 2) & 3, (number >> 4) & 3, number >> 6].map(|index| PARTS[index]);
        if PARTS.iter().all(|part| order.contains(part)) {
            orders.push(order);
        }
    }
    orders
}

async fn delete(site: &Site, part: Part, name: &str, host: HostKey) {
    let host = host.host_id.to_string();
    // What one takes along may be gone already.
    let gone = |deleted: Result<(), kube::Error>| match deleted {
        Err(error) if !assisted_kube::error::is_missing(&error) => panic!("{name}: {error}"),
        _ => {}
    };
    let params = Default::default();
    gone(match part {
        Part::Deployment => site.api::<ClusterDeployment>().delete(name, &params).await.map(drop),
        Part::Install => site.api::<AgentClusterInstall>().delete(name, &params).await.map(drop),
        Part::InfraEnv => site.api::<InfraEnv>().delete(name, &params).await.map(drop),
        Part::Agent => site.api::<Agent>().delete(&host, &params).await.map(drop),
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_go_in_any_order() {
    let site = Site::new("orders").await;
    site.pull_secret().await;
    image_set(&site).await;
    let orders = orders();
    assert_eq!(orders.len(), 24);
    let mut sets = Vec::new();
    for (number, order) in orders.into_iter().enumerate() {
        let name = format!("set-{number}");
        deployment(&site, &name).await;
        install(&site, &name, json!({})).await;
        site.infra_env(&name, json!({"clusterRef": {"name": name, "namespace": site.namespace}})).await;
        sets.push((name, order));
    }
    let mut hosts = Vec::new();
    for (name, _) in &sets {
        hosts.push(register(&site, infra_env_id(&site, name).await).await);
    }
    for host in &hosts {
        let name = host.host_id.to_string();
        until(&site.api(), &name, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "SyncOK").await;
    }

    // What they refer to goes first in every other set's eyes: it is one for all.
    for place in 0..PARTS.len() {
        for ((name, order), host) in sets.iter().zip(&hosts) {
            delete(&site, order[place], name, *host).await;
        }
        if place == 1 {
            site.delete::<Secret>("pull").await;
        }
    }
    for ((name, _), host) in sets.iter().zip(&hosts) {
        site.gone::<ClusterDeployment>(name).await;
        site.gone::<AgentClusterInstall>(name).await;
        site.gone::<InfraEnv>(name).await;
        site.gone::<Agent>(&host.host_id.to_string()).await;
        assert!(site.service.clusters().of_object(&site.key(name)).await.unwrap().is_none());
        assert!(site.service.infra_envs().of_object(&site.key(name)).await.unwrap().is_none());
        assert!(site.service.hosts().described(*host).await.unwrap().is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn finalizers_of_a_dead_service_are_taken_away() {
    let mut hub = OwnHub::lease().await;
    let site = hub.site("stuck").await;
    let kept = |finalizer: &str| json!({"finalizers": [finalizer]});
    let spec = |metadata: Value, spec: Value| json!({"metadata": metadata, "spec": spec});
    // Another service has left them, whose database is gone.
    site.create::<ClusterDeployment>(
        "demo",
        spec(kept(names::CLUSTER_DEPLOYMENT), json!({
            "clusterName": "demo", "baseDomain": "example.com", "platform": {"agentBareMetal": {"agentSelector": {}}},
            "clusterInstallRef": {"group": "extensions.hive.openshift.io", "version": "v1beta1",
                                  "kind": "AgentClusterInstall", "name": "demo"},
        })),
    )
    .await;
    site.create::<AgentClusterInstall>(
        "demo",
        spec(kept(names::AGENT_CLUSTER_INSTALL), json!({
            "clusterDeploymentRef": {"name": "demo"}, "networking": {}, "provisionRequirements": {"controlPlaneAgents": 3},
        })),
    )
    .await;
    let lone = json!({
        "clusterDeploymentRef": {"name": "none"}, "networking": {}, "provisionRequirements": {"controlPlaneAgents": 3},
    });
    site.create::<AgentClusterInstall>("lone", spec(kept(names::AGENT_CLUSTER_INSTALL), lone)).await;
    site.create::<InfraEnv>("pool", spec(kept(names::INFRA_ENV), json!({"pullSecretRef": {"name": "pull"}})))
        .await;
    let agent = "33333333-3333-4333-8333-333333333333";
    let bound = json!({
        "approved": true, "role": "", "clusterDeploymentName": {"name": "demo", "namespace": site.namespace},
    });
    site.create::<Agent>(agent, spec(kept(names::AGENT), bound)).await;
    let query = json!({"labelKey": "size", "labelValue": "large", "query": "true"});
    site.create::<AgentClassification>("large", spec(kept(names::AGENT_CLASSIFICATION), query)).await;
    for part in PARTS {
        let host = HostKey {
            infra_env_id: assisted_wire::id::InfraEnvId::random(),
            host_id: agent.parse().unwrap(),
        };
        delete(&site, part, if part == Part::InfraEnv { "pool" } else { "demo" }, host).await;
    }
    site.delete::<AgentClusterInstall>("lone").await;
    site.delete::<AgentClassification>("large").await;

    hub.start(std::time::Duration::from_secs(15)).await;
    site.gone::<Agent>(agent).await;
    site.gone::<AgentClusterInstall>("demo").await;
    site.gone::<AgentClusterInstall>("lone").await;
    site.gone::<ClusterDeployment>("demo").await;
    site.gone::<InfraEnv>("pool").await;
    site.gone::<AgentClassification>("large").await;
    hub.stop().await;
}
