//! A start beside many objects that are as they should be.

use std::time::Duration;

use assisted_config::Settings;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::{InfraEnv, InfraEnvStatus};
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kubeapi::rbac::{SERVICE, manifest};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::super::agent::{condition_of, infra_env_id, register, report_sufficient};
use super::super::cluster::{deployment, image_set, install};
use super::super::world::{Site, serving_in, until, wait};
use crate::controllers::own_hub::OwnHub;
use crate::hub::apply;

const AGENTS: usize = 20;
const LEASE: Duration = Duration::from_secs(15);
/// How long nothing may be written.
const REST: Duration = Duration::from_secs(3);

/// All objects that the controllers write, each with its version.
async fn objects(site: &Site) -> Vec<(String, Option<String>, Value)> {
    let mut all = Vec::new();
    macro_rules! take {
        ($($kind:ty),+) => {$(
            for object in site.api::<$kind>().list(&Default::default()).await.unwrap() {
                all.push((object.name_any(), object.resource_version(), serde_json::to_value(&object).unwrap()));
            }
        )+};
    }
    take!(
        Agent,
        InfraEnv,
        AgentClusterInstall,
        assisted_crd::hive::cluster_deployment::ClusterDeployment,
        k8s_openapi::api::core::v1::Secret
    );
    all
}

/// The same once nothing of them is written any more.
async fn at_rest(site: &Site) -> Vec<(String, Option<String>, Value)> {
    wait("nothing is at rest", || async {
        let first = objects(site).await;
        tokio::time::sleep(REST).await;
        first == objects(site).await
    })
    .await;
    objects(site).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_writes_nothing_that_is_as_it_should_be() {
    let mut hub = OwnHub::lease().await;
    hub.start(LEASE).await;
    let site = hub.site("start").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    install(&site, "demo", json!({})).await;
    site.infra_env("demo", json!({"clusterRef": {"name": "demo", "namespace": site.namespace}})).await;
    site.infra_env("pool", json!({"agentApproval": {"autoApprove": true}})).await;
    let mut hosts = vec![register(&site, infra_env_id(&site, "demo").await).await];
    let pool = infra_env_id(&site, "pool").await;
    for _ in 1..AGENTS {
        hosts.push(register(&site, pool).await);
    }
    for host in &hosts {
        report_sufficient(&site, *host).await;
    }
    for host in &hosts {
        let name = host.host_id.to_string();
        until(&site.api(), &name, |agent: &Agent| {
            condition_of(agent, "SpecSynced").1 == "SyncOK"
                && agent.status.as_ref().is_some_and(|status| status.inventory.is_some())
        })
        .await;
    }
    let before = at_rest(&site).await;

    hub.stop().await;
    hub.start(LEASE).await;
    // The controllers are at work once they have done something.
    site.infra_env("news", json!({})).await;
    infra_env_id(&site, "news").await;
    let after = at_rest(&site).await;
    for (name, version, object) in &before {
        let Some((_, new, changed)) = after
            .iter()
            .find(|(other, _, value)| other == name && value["metadata"]["uid"] == object["metadata"]["uid"])
        else {
            panic!("{name} is gone");
        };
        assert_eq!(version, new, "{name} was written: {object}\n{changed}");
    }
    assert_eq!(after.len(), before.len() + 1);
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_with_another_scheme_for_boot_files_shows_it_and_no_other_image() {
    let dir = tempfile::tempdir().unwrap();
    // Where plain HTTP is listened for, firmware is spared TLS.
    let with = |port: &'static str| {
        move |settings: &mut Settings| {
            "https://service.example.com".clone_into(&mut settings.http.service_base_url);
            "https://images.example.com".clone_into(&mut settings.http.image_service_base_url);
            port.clone_into(&mut settings.http.http_listen_port);
        }
    };
    let mut hub = OwnHub::lease().await;
    let mut shown: Option<InfraEnvStatus> = None;
    for (port, scheme) in [("", "https://"), ("8090", "http://"), ("", "https://")] {
        hub.served = serving_in(dir.path(), with(port)).await;
        hub.start(LEASE).await;
        if shown.is_none() {
            let site = hub.site("scheme").await;
            site.pull_secret().await;
            site.infra_env("rack", json!({})).await;
        }
        let api = Api::<InfraEnv>::namespaced(hub.client.clone(), "scheme");
        let comes = |object: &InfraEnv| {
            let artifacts = object.status.as_ref().and_then(|status| status.boot_artifacts.as_ref());
            artifacts.is_some_and(|artifacts| {
                let loaded =
                    [&artifacts.kernel, &artifacts.initrd, &artifacts.rootfs, &artifacts.ipxe_script];
                loaded.iter().all(|url| url.starts_with(scheme))
            })
        };
        let mut status = until(&api, "rack", comes).await.status.unwrap();
        let artifacts = status.boot_artifacts.take().unwrap();
        assert!(artifacts.discovery_ignition_url.starts_with("https://"), "{artifacts:#?}");
        assert!(status.iso_download_url.starts_with("https://"), "{status:#?}");
        let before = shown.get_or_insert_with(|| status.clone());
        assert_eq!(*before, status, "the image is as it was");
        hub.stop().await;
    }
}

/// Who may lead, and nothing else: so it is for a moment where an API server has come and does not know of all roles yet.
const LEADS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: late, namespace: default}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: late, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: late}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: late}]
";

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_come_after_the_lease_are_waited_for() {
    let mut hub = OwnHub::lease().await;
    let user = tokio::task::block_in_place(|| {
        apply(&hub.kube, &manifest(&SERVICE, "default")).unwrap();
        apply(&hub.kube, LEADS).unwrap();
        hub.kube.kubeconfig_of("late", &["system:authenticated"])
    });
    hub.start_as(&user, LEASE).await;
    let leases = Api::<Lease>::namespaced(hub.client.clone(), "default");
    let is_held = |lease: &Lease| {
        lease.spec.as_ref().is_some_and(|spec| spec.holder_identity.as_deref() == Some("test"))
    };
    until(&leases, "77190dcb.agent-install.openshift.io", is_held).await;
    // It is refused meanwhile.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let granted = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: late}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {}}}\n\
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: late}}]\n",
        SERVICE.name
    );
    tokio::task::block_in_place(|| apply(&hub.kube, &granted).unwrap());
    let site = hub.site("late").await;
    site.pull_secret().await;
    site.infra_env("pool", json!({})).await;
    infra_env_id(&site, "pool").await;
    hub.stop().await;
}
