//! Objects of a backup: under their names, with other UIDs, and without their status.

use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;

use super::super::agent::{condition_of, infra_env_id, register, report_sufficient};
use super::super::cluster::{deployment, image_set, install};
use super::super::world::{Site, serving, until, wait};
use crate::controllers::own_hub::OwnHub;

const LEASE: Duration = Duration::from_secs(15);

/// An object as a backup has it.
async fn saved<K>(site: &Site, name: &str) -> K
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug,
{
    let object = site.api::<K>().get(name).await.unwrap();
    let mut value = serde_json::to_value(&object).unwrap();
    value.as_object_mut().unwrap().remove("status");
    let metadata = value["metadata"].as_object_mut().unwrap();
    metadata.retain(|member, _| {
        ["name", "namespace", "labels", "annotations", "ownerReferences", "finalizers"]
            .contains(&member.as_str())
    });
    site.remove_by_force::<K>(name).await;
    serde_json::from_value(value).unwrap()
}

async fn restore<K>(site: &Site, object: &K) -> Option<String>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug,
{
    site.api::<K>().create(&PostParams::default(), object).await.unwrap().uid()
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_backup_belong_to_their_rows_and_to_each_other() {
    let mut hub = OwnHub::lease().await;
    hub.start(LEASE).await;
    let site = hub.site("backup").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    install(&site, "demo", json!({})).await;
    site.infra_env("demo", json!({"clusterRef": {"name": "demo", "namespace": site.namespace}})).await;
    let host = register(&site, infra_env_id(&site, "demo").await).await;
    report_sufficient(&site, host).await;
    let name = host.host_id.to_string();
    let has_inventory =
        |agent: &Agent| agent.status.as_ref().is_some_and(|status| status.inventory.is_some());
    until(&site.api(), &name, has_inventory).await;
    site.merge::<Agent>(&name, json!({"spec": {"hostname": "kept", "approved": true}})).await;
    wait("the name does not come", || async { requested(&site, host).await.as_deref() == Some("kept") })
        .await;
    let before = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster.id;

    // The same database, and another API server with what a backup has: twice, the second time with an empty database.
    for is_lost in [false, true] {
        hub.stop().await;
        let agent: Agent = saved(&site, &name).await;
        let infra_env: InfraEnv = saved(&site, "demo").await;
        let install: AgentClusterInstall = saved(&site, "demo").await;
        let deployment: ClusterDeployment = saved(&site, "demo").await;
        let secret: Secret = saved(&site, "pull").await;
        if is_lost {
            hub.served = serving().await;
        }
        let site =
            Site { client: hub.client.clone(), namespace: site.namespace, service: hub.service().clone() };
        restore(&site, &agent).await;
        hub.start(LEASE).await;
        restore(&site, &install).await;
        let infra_env = restore(&site, &infra_env).await;
        let deployment = restore(&site, &deployment).await;
        restore(&site, &secret).await;

        site.install_says("demo", "SpecSynced", "SyncOK").await;
        let owned = until(&site.api(), "demo", |object: &AgentClusterInstall| {
            object.owner_references().iter().any(|owner| Some(&owner.uid) == deployment.as_ref())
        })
        .await;
        assert_eq!(owned.owner_references().len(), 1, "{:?}", owned.owner_references());
        let found = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster;
        assert_eq!(found.id == before, !is_lost);
        let owned = until(&site.api(), &name, |agent: &Agent| {
            condition_of(agent, "SpecSynced").1 == "SyncOK"
                && has_inventory(agent)
                && agent.owner_references().iter().any(|owner| Some(&owner.uid) == infra_env.as_ref())
        })
        .await;
        assert_eq!(owned.owner_references().len(), 1, "{:?}", owned.owner_references());
        assert!(owned.spec.approved);
        let pool = infra_env_id(&site, "demo").await;
        let host = HostKey { infra_env_id: pool, host_id: host.host_id };
        wait("the host does not keep its name", || async {
            requested(&site, host).await.as_deref() == Some("kept")
        })
        .await;
        let row = site.service.hosts().described(host).await.unwrap().unwrap();
        assert_eq!(row.host.cluster_id, Some(found.id));
    }
    hub.stop().await;
}

async fn requested(site: &Site, host: HostKey) -> Option<String> {
    let found = site.service.hosts().described(host).await.unwrap();
    found.map(|found| found.host.requested_hostname)
}
