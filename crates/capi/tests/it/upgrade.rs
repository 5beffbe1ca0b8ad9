//! Upgrades, against the API of a cluster of its own.

use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_crd::config::cluster_version::ClusterVersion;
use assisted_crd::definition;
use assisted_kube::client::from_text;
use assisted_kube::error::is_conflict;
use assisted_testkit::kube::Kube;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::control_plane::{kubeconfig, run, state};
use crate::world::{Site, plane_said, wait};

type Plane = OpenshiftAssistedControlPlane;

fn history(entries: &[(&str, bool)]) -> Value {
    let time = "2026-01-01T00:00:00Z";
    let entry = |(version, is_done): &(&str, bool)| {
        json!({"version": version, "state": if *is_done { "Completed" } else { "Partial" }, "startedTime": time,
               "completionTime": if *is_done { json!(time) } else { Value::Null }, "image": "i", "verified": true})
    };
    entries.iter().map(entry).collect()
}

/// What the cluster's own operator says.
pub async fn tells(api: &Api<ClusterVersion>, entries: &[(&str, bool)], progress: Option<&str>) {
    let time = "2026-01-01T00:00:00Z";
    let progressing = json!({"type": "Progressing", "status": if progress.is_some() { "True" } else { "False" },
                             "message": progress.unwrap_or_default(), "lastTransitionTime": time, "reason": "R"});
    let status = json!({
        "history": history(entries), "conditions": [progressing], "desired": {"version": entries[0].0, "image": "i"},
        "observedGeneration": 1, "versionHash": "h", "availableUpdates": null,
    });
    // Members that are null and required: a patch would take them out. Others write the object, too.
    wait("the status is written", async || {
        let mut version = serde_json::to_value(api.get("version").await.unwrap()).unwrap();
        version["status"] = status.clone();
        match api.replace_subresource("status", "version", &PostParams::default(), &version).await {
            Ok(_) => true,
            Err(error) if is_conflict(&error) => false,
            Err(error) => panic!("{error}"),
        }
    })
    .await;
}

/// The object of the cluster's own operator, in a cluster that has none yet.
pub async fn cluster_version(client: Client) -> Api<ClusterVersion> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definition::read(definition::OTHERS).unwrap() {
        if definition.spec.names.kind == "ClusterVersion" {
            definitions.create(&PostParams::default(), &definition).await.unwrap();
        }
    }
    let api: Api<ClusterVersion> = Api::all(client);
    let version: ClusterVersion = serde_json::from_value(
        json!({"metadata": {"name": "version"}, "spec": {"clusterID": "b8a3bf2f-1a4c-4f0c-9d7e-0123456789ab"}}),
    )
    .unwrap();
    wait("ClusterVersion is served", async || api.create(&PostParams::default(), &version).await.is_ok())
        .await;
    api
}

#[tokio::test]
async fn a_running_cluster_is_upgraded_by_its_own_operator() {
    let site = Site::new("upgraded").await;
    let kube = tokio::task::spawn_blocking(|| Kube::launch(&[]).unwrap()).await.unwrap();
    let text = std::fs::read_to_string(kube.kubeconfig()).unwrap();
    let client = from_text(&text, std::time::Duration::from_secs(60)).await.unwrap();
    let api = cluster_version(client).await;
    tells(&api, &[("4.20.0", false)], Some("Working towards 4.20.0")).await;

    site.control_plane("cluster", "plane", json!({"spec": {"replicas": 1}})).await;
    site.infrastructure("cluster").await;
    let machines = site.machines("plane", 1).await;
    state(&site, "plane", "finalizing").await;
    kubeconfig(&site, "plane", &text).await;
    // The first version is that of the installation, and no upgrade.
    let installing = site.plane_says("plane", "Available", "Available").await;
    assert_eq!(plane_said(&installing, "UpgradeCompleted"), ("", ""));
    tells(&api, &[("4.20.0", true)], None).await;
    state(&site, "plane", "adding-hosts").await;
    run(&site, &machines).await;
    let distribution = |version: &'static str| {
        move |plane: &Plane| {
            plane.status.as_ref().is_some_and(|status| status.distribution_version == version)
        }
    };
    let installed = site.until("plane", distribution("4.20.0")).await;
    assert_eq!(plane_said(&installed, "UpgradeCompleted"), ("", ""));
    assert!(api.get("version").await.unwrap().spec.desired_update.is_none());

    site.merge::<Plane>("plane", json!({"spec": {"distributionVersion": "4.20.1"}})).await;
    wait("the upgrade is asked for", async || {
        let wanted = api.get("version").await.unwrap().spec.desired_update;
        wanted.is_some_and(|wanted| {
            wanted.version == "4.20.1" && wanted.image.is_empty() && wanted.force.is_none()
        })
    })
    .await;
    let pending = site.plane_says("plane", "UpgradeCompleted", "UpgradePending").await;
    assert_eq!(plane_said(&pending, "UpgradeCompleted").1, "upgrade to version 4.20.1 is pending\n");
    // Machines come and go meanwhile.
    tells(&api, &[("4.20.1", false), ("4.20.0", true)], Some("Working towards 4.20.1: 10% complete")).await;
    let look = |text: &str| json!({"metadata": {"annotations": {"look": text}}});
    site.merge::<Plane>("plane", look("now")).await;
    let works = site.plane_says("plane", "UpgradeCompleted", "UpgradeInProgress").await;
    assert_eq!(
        plane_said(&works, "UpgradeCompleted").1,
        "upgrade to version 4.20.1 in progress\nWorking towards 4.20.1: 10% complete"
    );
    assert_eq!(works.status.as_ref().unwrap().distribution_version, "4.20.0");
    tells(&api, &[("4.20.1", true), ("4.20.0", true)], None).await;
    site.merge::<Plane>("plane", look("again")).await;
    let done = site.plane_says("plane", "UpgradeCompleted", "UpgradeCompleted").await;
    assert!(distribution("4.20.1")(&done));
    assert_eq!(site.machines("plane", 1).await[0].name_any(), machines[0].name_any());

    // A candidate is told by its image, which nobody signed; one that can't be found is told as such.
    site.merge::<Plane>("plane", json!({"spec": {"distributionVersion": "4.21.0-rc.1"}})).await;
    site.plane_says("plane", "UpgradeAvailable", "UpgradeImageUnavailable").await;
    assert_eq!(api.get("version").await.unwrap().spec.desired_update.unwrap().version, "4.20.1");
}
