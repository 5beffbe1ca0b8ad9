//! What is read once, and what is not written before everything is read (§24 of the reference, rows 7 and 37).

use std::time::Duration;

use assisted_capi::control_plane::{self, Installer};
use assisted_capi::rbac::CONTROL_PLANE;
use assisted_crd::cluster_api::machine_deployment::MachineDeployment;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall as Install;
use assisted_kube::client::{from_file, from_text};
use assisted_kubeapi::rbac::manifest;
use assisted_testkit::Proxy;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::world::{GROUPS, Site, apply, define_groups, lease, registry, service, wait};

const SILENCE: Duration = Duration::from_secs(330);
/// How long a provider that can't list a kind is looked at.
const LOOK: Duration = Duration::from_secs(5);

fn workers(replicas: i64) -> Value {
    json!({"metadata": {}, "spec": {"clusterName": "cluster", "replicas": replicas, "selector": {},
        "template": {"spec": {"clusterName": "cluster", "bootstrap": {"dataSecretName": "x"},
        "infrastructureRef": {"apiGroup": "g", "kind": "K", "name": "n"}}}}})
}

/// Waits until the installation takes so many workers.
async fn takes(site: &Site, replicas: i64) {
    let is_it =
        |install: &Install| json!(install)["spec"]["provisionRequirements"]["workerAgents"] == replicas;
    site.until("plane", is_it).await;
}

#[tokio::test]
async fn a_release_is_read_once_however_often_its_control_plane_is_looked_at() {
    let site = Site::new("read-once").await;
    let proxy = Proxy::start(registry().await.parse().unwrap()).await;
    site.control_plane("cluster", "plane", json!({})).await;
    let conf = format!(
        "[[registry]]\nlocation = \"quay.io/openshift-release-dev/ocp-release\"\n\
         [[registry.mirror]]\nlocation = \"{}/ocp/release\"\ninsecure = true\npull-from-mirror = \"all\"\n",
        proxy.name()
    );
    site.merge::<ConfigMap>("plane-mirrors", json!({"data": {"registries.conf": conf}})).await;
    site.create::<MachineDeployment>("workers", workers(1)).await;
    site.infrastructure("cluster").await;
    takes(&site, 1).await;
    site.until("plane", |plane: &Plane| {
        let told = json!(plane);
        let mut conditions = told["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|one| one["type"] == "KubernetesVersionAvailable" && one["status"] == "True")
    })
    .await;
    let (layers, all) = (proxy.seen("/blobs/").len(), proxy.seen("/v2/").len());
    assert!(layers > 0, "the release is read by another way: {:?}", proxy.seen(""));
    // Each of these is a look at the control plane, which has come to its end when the number stands at the installer.
    for replicas in 2..6 {
        site.merge::<MachineDeployment>("workers", json!({"spec": {"replicas": replicas}})).await;
        takes(&site, replicas).await;
    }
    assert_eq!(
        (proxy.seen("/blobs/").len(), proxy.seen("/v2/").len()),
        (layers, all),
        "{:?}",
        proxy.seen("")
    );
}

#[tokio::test]
async fn nothing_is_written_as_long_as_machine_deployments_can_t_be_listed() {
    let kube = tokio::task::spawn_blocking(|| Kube::launch(&[]).unwrap()).await.unwrap();
    let admin = from_file(&kube.kubeconfig(), SILENCE).await.unwrap();
    define_groups(&admin, |group| GROUPS.contains(&group)).await;
    let mut own = Namespace::default();
    own.metadata.name = Some("unlisted".to_owned());
    Api::all(admin.clone()).create(&PostParams::default(), &own).await.unwrap();
    let service = tokio::task::spawn_blocking(service).await.unwrap();
    let site = Site { client: admin.clone(), namespace: "unlisted", service };
    site.create::<MachineDeployment>("workers", workers(2)).await;
    site.control_plane("cluster", "plane", json!({})).await;
    site.infrastructure("cluster").await;

    let rights = manifest(&CONTROL_PLANE, "default");
    let fewer = rights.replace(r#"["clusters", "machinedeployments"]"#, r#"["clusters"]"#);
    assert_ne!(fewer, rights);
    apply(&kube, &fewer);
    let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
    let account = format!("system:serviceaccount:default:{}", CONTROL_PLANE.account);
    let limited = from_text(&kube.kubeconfig_of(&account, &groups), SILENCE).await.unwrap();
    let installer = Installer::hub(limited.clone());
    let provider = tokio::spawn(async move {
        let work = control_plane::run(limited, installer, lease(), CancellationToken::new());
        panic!("the provider ended: {:?}", Box::pin(work).await);
    });
    let leases: Api<Lease> = Api::namespaced(admin, "default");
    wait("the provider leads", async || leases.get_opt("09dff44b.cluster.x-k8s.io").await.unwrap().is_some())
        .await;
    tokio::time::sleep(LOOK).await;
    let plane = site.find::<Plane>("plane").await.unwrap();
    assert_eq!((plane.metadata.finalizers, plane.status.is_some()), (None, false));
    assert!(site.find::<ClusterDeployment>("plane").await.is_none());
    assert!(site.find::<Install>("plane").await.is_none());
    assert!(!provider.is_finished(), "the provider has to try again");

    // All workers are counted as soon as they can be.
    apply(&kube, &rights);
    let first = site.until("plane", |_: &Install| true).await;
    assert_eq!(json!(first)["spec"]["provisionRequirements"]["workerAgents"], 2);
    provider.abort();
}
