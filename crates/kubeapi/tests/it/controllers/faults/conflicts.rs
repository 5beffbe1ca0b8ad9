//! Somebody else writes the same objects without end.

use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use kube::ResourceExt;
use serde_json::json;

use super::super::agent::{condition_of, infra_env_id, register, report_sufficient};
use super::super::cluster::{deployment, image_set, install};
use super::super::world::{Site, until, wait};

/// Writes of somebody else, and what is wanted in the middle of them.
const WRITES: usize = 50;
/// How long an object has to stay as it is until it is at rest.
const REST: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_conflicts_ends_where_it_should_and_leaves_silence() {
    let site = Site::new("storm").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    install(&site, "demo", json!({})).await;
    let reference = json!({"clusterRef": {"name": "demo", "namespace": site.namespace}});
    site.infra_env("demo", reference).await;
    let host: HostKey = register(&site, infra_env_id(&site, "demo").await).await;
    let name = host.host_id.to_string();
    until(&site.api(), &name, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "SyncOK").await;

    for round in 0..WRITES {
        // Everything that the controllers write, finalizers and owners included, goes and comes again.
        let bare = |text: String| json!({"metadata": {"annotations": {"example.com/round": text}, "finalizers": null, "ownerReferences": null}});
        site.merge::<Agent>(&name, bare(round.to_string())).await;
        site.merge::<AgentClusterInstall>("demo", bare(round.to_string())).await;
        site.merge::<ClusterDeployment>("demo", bare(round.to_string())).await;
        site.merge::<InfraEnv>("demo", bare(round.to_string())).await;
        if round == WRITES / 2 {
            site.merge::<Agent>(&name, json!({"spec": {"hostname": "in-the-storm"}})).await;
            site.merge::<ClusterDeployment>("demo", json!({"spec": {"baseDomain": "example.org"}})).await;
            report_sufficient(&site, host).await;
        }
    }
    wait("the host does not get its name", || async {
        let found = site.service.hosts().described(host).await.unwrap().unwrap();
        found.host.requested_hostname == "in-the-storm"
    })
    .await;
    wait("the cluster does not get its domain", || async {
        let found = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap();
        found.cluster.base_dns_domain == "example.org"
    })
    .await;
    let agent = until(&site.api(), &name, |agent: &Agent| {
        agent.status.as_ref().is_some_and(|status| status.inventory.is_some())
            && agent.metadata.finalizers.is_some()
            && agent.metadata.owner_references.is_some()
    })
    .await;
    assert_eq!(condition_of(&agent, "SpecSynced"), ("True", "SyncOK"));
    let kept = until(&site.api(), "demo", |object: &AgentClusterInstall| {
        object.metadata.finalizers.is_some() && object.metadata.owner_references.is_some()
    })
    .await;
    assert_eq!(kept.metadata.owner_references.unwrap().len(), 1);
    until(&site.api(), "demo", |object: &InfraEnv| object.metadata.finalizers.is_some()).await;

    // What is as it should be is written no more.
    let versions = async || {
        (
            site.api::<Agent>().get(&name).await.unwrap().resource_version(),
            site.api::<AgentClusterInstall>().get("demo").await.unwrap().resource_version(),
            site.api::<ClusterDeployment>().get("demo").await.unwrap().resource_version(),
            site.api::<InfraEnv>().get("demo").await.unwrap().resource_version(),
        )
    };
    let mut before = versions().await;
    for attempt in 0.. {
        tokio::time::sleep(REST).await;
        let after = versions().await;
        if before == after {
            break;
        }
        assert!(attempt < 5, "the objects are written again and again: {before:?} {after:?}");
        before = after;
    }
}
