//! Rights of the service: with them all is done, on an API server that asks for them as OpenShift's does, and each is needed.

use std::collections::BTreeSet;
use std::time::Duration;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent_classification::AgentClassification;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::finalizer as names;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_crd::metal3::preprovisioning_image::PreprovisioningImage;
use assisted_crd::metal3::provisioning::Provisioning;
use assisted_kube::client::from_text;
use assisted_kube::finalizer;
use assisted_kubeapi::rbac::SERVICE;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::agent::{infra_env_id, register};
use super::bare_metal_host::{machine, told_address};
use super::cluster::{deployment, image_set, install};
use super::converged::image_of;
use super::own_hub::OwnHub;
use super::world::{SILENCE, Site, is_openshift, kubeconfig, until, wait};
use crate::hub::{apply, define};

/// No request is made for these: the API server asks for them when owners are set, see [`owners_are_set`].
const OF_OWNERS: [(&str, &str, &str); 2] =
    [("", "secrets", "delete"), ("hive.openshift.io", "clusterdeployments/finalizers", "update")];

/// Whether one who may do this with Secrets alone may set an owner of one; what the API server says if not.
async fn sets_owner(client: &Client, namespace: &str, owner: &ClusterDeployment) -> Result<(), String> {
    let owner = json!({"apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment", "name": owner.name_any(),
                       "uid": owner.metadata.uid, "blockOwnerDeletion": true});
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
    let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
    let set = secrets.patch("owned", &PatchParams::default(), &patch).await;
    set.map(drop).map_err(|error| match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    })
}

/// The two rights that no request is made for: without either an owner can't be set, and with both the service sets it.
async fn owners_are_set(kube: &Kube, site: &Site, owner: &ClusterDeployment) {
    site.create::<Secret>("owned", json!({"metadata": {}})).await;
    let limited =
        from_text(&kube.kubeconfig_of("limited", &["system:authenticated"]), SILENCE).await.unwrap();
    for (verbs, missing) in [
        (r#""get", "patch""#, "ownerRef on a resource you can't delete"),
        (r#""get", "patch", "delete""#, "you can't set finalizers on"),
    ] {
        let role = format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: limited}}\n\
             rules:\n- {{apiGroups: [\"\"], resources: [secrets], verbs: [{verbs}]}}\n\
             ---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: limited}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: limited}}\n\
             subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: limited}}]\n"
        );
        apply(kube, &role).unwrap();
        wait(missing, || async {
            let refused = sets_owner(&limited, site.namespace, owner).await;
            refused.is_err_and(|text| text.contains(missing))
        })
        .await;
    }
    let service = from_text(&kubeconfig(kube), SILENCE).await.unwrap();
    sets_owner(&service, site.namespace, owner).await.unwrap();
}

/// A cluster with a host that metal3 looks after, from its objects to their end: all that the service writes.
async fn walk(hub: &OwnHub, site: &Site) {
    site.pull_secret().await;
    image_set(site).await;
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    site.create::<ConfigMap>("extra", json!({"metadata": {}, "data": {"a.yaml": text}})).await;
    let deployment = deployment(site, "demo").await;
    install(site, "demo", json!({"manifestsConfigMapRefs": [{"name": "extra"}]})).await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    let query = json!({"labelKey": "size", "labelValue": "large", "query": ".cpu.count > 1"});
    site.create::<AgentClassification>("large", json!({"metadata": {}, "spec": query})).await;
    let reference =
        json!({"clusterRef": {"name": "demo", "namespace": site.namespace}, "cpuArchitecture": "x86_64"});
    site.infra_env("rack", reference).await;
    let host = register(site, infra_env_id(site, "rack").await).await;
    let mac = told_address(site, host).await;
    until(&site.api(), "large", |object: &AgentClassification| object.status.is_some()).await;

    let bmc = json!({"metadata": {}, "stringData": {"username": "root", "password": "calvin"}});
    site.create::<Secret>("bmc", bmc).await;
    let fencing = json!({"bmac.agent-install.openshift.io/create-fencing-credentials-secret": ""});
    let machine = machine(site, "node-0", &mac, fencing).await;

    // metal3 is looked for where its pod runs, which is not there, and in its own network.
    let settings: Provisioning = serde_json::from_value(json!({
        "metadata": {"name": "provisioning-configuration"}, "spec": {"provisioningNetwork": "Disabled"},
    }))
    .unwrap();
    let all = Api::<Provisioning>::all(hub.client.clone());
    all.create(&PostParams::default(), &settings).await.unwrap();
    image_of(site, &machine, "rack", "x86_64", &["iso"]).await;
    let images = site.api::<PreprovisioningImage>();
    let says = |image: &PreprovisioningImage, reason: &str| {
        let mut conditions = image.status.iter().flat_map(|status| &status.conditions);
        conditions.any(|condition| condition.type_ == "Ready" && condition.reason == reason)
    };
    until(&images, "node-0", |image| says(image, "IronicAgentIgnitionUpdateFailure")).await;
    let settings = json!({"spec": {"provisioningNetwork": "Managed", "provisioningIP": "192.0.2.5"}});
    let patch = Patch::Merge(settings);
    all.patch("provisioning-configuration", &PatchParams::default(), &patch).await.unwrap();
    site.merge::<BareMetalHost>("node-0", json!({"metadata": {"annotations": {"look": "again"}}})).await;
    until(&images, "node-0", |image| says(image, "InfraEnvAvailable")).await;
    let id = host.host_id.to_string();
    until(&site.api(), &id, |agent: &Agent| !agent.spec.fencing_credentials_secret_ref.is_empty()).await;

    Box::pin(owners_are_set(&hub.kube, site, &deployment)).await;

    site.delete::<ClusterDeployment>("demo").await;
    site.gone::<AgentClusterInstall>("demo").await;
    site.gone::<ClusterDeployment>("demo").await;
    site.gone::<Agent>(&id).await;
    site.delete::<InfraEnv>("rack").await;
    site.gone::<InfraEnv>("rack").await;
    let machine = site.api::<BareMetalHost>().get("node-0").await.unwrap();
    assert!(finalizer::has(&machine.metadata, names::BARE_METAL_HOST));
}

type Right = (String, String, String);

/// Group, resource and verb of each request of the service, and the requests that it had no right to.
fn requested(log: &str) -> (BTreeSet<Right>, Vec<Value>) {
    let user = format!("system:serviceaccount:default:{}", SERVICE.account);
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let own: Vec<_> = events.filter(|event| event["impersonatedUser"]["username"] == *user).collect();
    let right = |event: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &event["objectRef"];
        let resource = match object["subresource"].as_str() {
            Some(sub) => format!("{}/{sub}", text(&object["resource"])),
            None => text(&object["resource"]),
        };
        (text(&object["apiGroup"]), resource, text(&event["verb"]))
    };
    let rights = own.iter().map(right).collect();
    (rights, own.into_iter().filter(|event| event["responseStatus"]["code"] == 403).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_right_suffices_and_is_needed() {
    let kube = tokio::task::spawn_blocking(|| Kube::launch_audited().unwrap()).await.unwrap();
    // Before anything is asked, so that no request comes before the role is known.
    drop(kubeconfig(&kube));
    let mut hub = OwnHub::of(kube).await;
    define(&hub.client, |group| group == "config.openshift.io").await;
    is_openshift(&hub.client).await;
    hub.start(Duration::from_secs(15)).await;
    let site = hub.site("rights").await;
    Box::pin(walk(&hub, &site)).await;
    hub.stop().await;

    let (requested, refused) = requested(&hub.kube.requests());
    assert!(refused.is_empty(), "{refused:#?}");
    let right = |(group, resource, verb): (&str, &str, &str)| {
        (group.to_owned(), resource.to_owned(), verb.to_owned())
    };
    let mut declared = BTreeSet::new();
    for access in SERVICE.accesses {
        for resource in access.resources {
            declared.extend(access.verbs.iter().map(|verb| right((access.group, *resource, *verb))));
        }
    }
    let unused: BTreeSet<_> = declared.difference(&requested).cloned().collect();
    assert_eq!(unused, BTreeSet::from(OF_OWNERS.map(right)), "rights that nothing is done with");
}
