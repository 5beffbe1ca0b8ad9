//! ClusterDeployments and AgentClusterInstalls.

use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::{annotation, finalizer as names};
use assisted_kube::error::is_conflict;
use assisted_kube::finalizer;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::cluster_params::{ClusterUpdateParams, RoleSet};
use assisted_wire::manifest::ListManifests;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::world::{RELEASE, Site, condition_of, until, wait};

pub const IMAGE_SET: &str = "release-4.20";

/// The release, which all tests share.
pub async fn image_set(site: &Site) {
    let image_set: ClusterImageSet = serde_json::from_value(json!({
        "metadata": {"name": IMAGE_SET}, "spec": {"releaseImage": RELEASE},
    }))
    .unwrap();
    let created = Api::all(site.client.clone()).create(&PostParams::default(), &image_set).await;
    assert!(created.as_ref().err().is_none_or(is_conflict), "{created:?}");
}

pub async fn deployment(site: &Site, name: &str) -> ClusterDeployment {
    let spec = json!({
        "clusterName": name, "baseDomain": "example.com", "pullSecretRef": {"name": "pull"},
        "platform": {"agentBareMetal": {"agentSelector": {}}},
        "clusterInstallRef": {"group": "extensions.hive.openshift.io", "version": "v1beta1",
                              "kind": "AgentClusterInstall", "name": name},
    });
    site.create(name, json!({"metadata": {}, "spec": spec})).await
}

pub async fn install(site: &Site, name: &str, fields: Value) -> AgentClusterInstall {
    let mut spec = json!({
        "clusterDeploymentRef": {"name": name}, "imageSetRef": {"name": IMAGE_SET},
        "networking": {"clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
                       "serviceNetwork": ["172.30.0.0/16"]},
        "provisionRequirements": {"controlPlaneAgents": 3},
    });
    spec.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap());
    site.create(name, json!({"metadata": {}, "spec": spec})).await
}

/// The objects of a cluster that others have installed, whose kubeconfig is in the Secret `admin`; its AgentClusterInstall once it is
/// taken in.
pub async fn imported(site: &Site) -> AgentClusterInstall {
    let spec = json!({
        "clusterName": "demo", "baseDomain": "example.com", "installed": true,
        "platform": {"agentBareMetal": {"agentSelector": {}}},
        "clusterMetadata": {"clusterID": "", "infraID": "", "adminKubeconfigSecretRef": {"name": "admin"}},
        "clusterInstallRef": {"group": "extensions.hive.openshift.io", "version": "v1beta1",
                              "kind": "AgentClusterInstall", "name": "demo"},
    });
    site.create::<ClusterDeployment>("demo", json!({"metadata": {}, "spec": spec})).await;
    install(site, "demo", json!({"imageSetRef": null})).await;
    site.install_says("demo", "Completed", "InstallationCompleted").await
}

async fn row(site: &Site, name: &str) -> assisted_service::object::DescribedCluster {
    site.service.clusters().of_object(&site.key(name)).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_cluster_comes_with_its_objects_in_any_order_and_goes_with_them() {
    let site = Site::new("cluster").await;
    install(&site, "demo", json!({})).await;
    let waiting = site.install_says("demo", "SpecSynced", "InputError").await;
    assert_eq!(
        condition_of(&waiting, "SpecSynced").1,
        "The Spec could not be synced due to an input error: ClusterDeployment with name 'demo' in namespace 'cluster' \
         not found. Ensure that the CRD is already applied."
    );
    assert_eq!(condition_of(&waiting, "Completed").0, "NotAvailable");

    deployment(&site, "demo").await;
    let waiting = site.install_says("demo", "SpecSynced", "BackendError").await;
    assert!(condition_of(&waiting, "SpecSynced").1.contains("failed to find secret pull"), "{waiting:#?}");
    site.pull_secret().await;
    image_set(&site).await;

    site.install_says("demo", "SpecSynced", "SyncOK").await;
    let synced = until(&site.api(), "demo", |object: &AgentClusterInstall| {
        ["ValidationsFailing", "ValidationsUserPending"].contains(&condition_of(object, "Validated").0)
    })
    .await;
    assert_eq!(condition_of(&synced, "RequirementsMet").0, "ClusterNotReady");
    assert_eq!(condition_of(&synced, "Completed").0, "InstallationNotStarted");
    assert_eq!(condition_of(&synced, "Failed").0, "InstallationNotFailed");
    assert_eq!(condition_of(&synced, "Stopped").0, "InstallationNotStopped");
    let found = row(&site, "demo").await.cluster;
    assert_eq!((found.name.as_str(), found.openshift_version.as_str()), ("demo", "4.20.0"));
    let status = synced.status.clone().unwrap();
    let debug = status.debug_info.unwrap();
    assert!(debug.events_url.ends_with(&format!("/v2/events?cluster_id={}", found.id)), "{debug:?}");
    assert_eq!(debug.logs_url, "");
    assert!(!status.validations_info.is_empty());
    assert!(finalizer::has(&synced.metadata, names::AGENT_CLUSTER_INSTALL));
    assert_eq!(synced.metadata.owner_references.unwrap()[0].kind, "ClusterDeployment");

    // What the REST API changes of what objects say comes back.
    site.merge::<ClusterDeployment>("demo", json!({"spec": {"baseDomain": "example.org"}})).await;
    wait("the domain does not come", || async {
        row(&site, "demo").await.cluster.base_dns_domain == "example.org"
    })
    .await;

    site.delete::<ClusterDeployment>("demo").await;
    site.gone::<AgentClusterInstall>("demo").await;
    site.gone::<ClusterDeployment>("demo").await;
    assert!(site.service.clusters().of_object(&site.key("demo")).await.unwrap().is_none());
}

async fn manifests(site: &Site, name: &str) -> Vec<String> {
    let id = row(site, name).await.cluster.id;
    let ListManifests(found) =
        site.service.files().list_cluster_manifests(&site.caller(), id, false).await.unwrap();
    found.into_iter().map(|manifest| manifest.file_name).collect()
}

#[tokio::test]
async fn annotations_and_manifests_come_to_the_cluster_and_go() {
    let site = Site::new("settings").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    install(&site, "demo", json!({"manifestsConfigMapRefs": [{"name": "extra"}]})).await;
    let waiting = site.install_says("demo", "SpecSynced", "BackendError").await;
    assert!(condition_of(&waiting, "SpecSynced").1.contains("settings/extra"), "{waiting:#?}");
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    site.create::<ConfigMap>("extra", json!({"metadata": {}, "data": {"a.yaml": text}})).await;
    // An unlabelled one is not watched: something else brings the pass, as a minute does.
    site.merge::<AgentClusterInstall>(
        "demo",
        json!({"metadata": {"annotations": {
            annotation::INSTALL_CONFIG_OVERRIDES: r#"{"fips": true}"#,
            annotation::IGNORED_HOST_VALIDATIONS: "ntp-synced, ntp-synced",
            annotation::IGNORED_CLUSTER_VALIDATIONS: "",
        }}}),
    )
    .await;
    // The ConfigMap may have come to the cluster earlier than the annotations.
    wait("the annotations do not come", || async {
        row(&site, "demo").await.cluster.ignored_cluster_validations == "[]"
    })
    .await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    assert_eq!(manifests(&site, "demo").await, ["a.yaml"]);
    let found = row(&site, "demo").await.cluster;
    assert_eq!(found.install_config_overrides, r#"{"fips": true}"#);
    assert_eq!(found.ignored_host_validations, r#"["ntp-synced"]"#);
    assert_eq!(found.ignored_cluster_validations, "[]");

    // From now on the ConfigMap is watched.
    site.merge::<ConfigMap>("extra", json!({"data": {"a.yaml": null, "b.yaml": text}})).await;
    wait("the manifest does not come", || async { manifests(&site, "demo").await == ["b.yaml"] }).await;

    site.merge::<AgentClusterInstall>(
        "demo",
        json!({"metadata": {"annotations": {
            annotation::IGNORED_HOST_VALIDATIONS: "no-such-validation",
        }}}),
    )
    .await;
    let refused = site.install_says("demo", "SpecSynced", "InputError").await;
    assert!(
        condition_of(&refused, "SpecSynced")
            .1
            .contains("'no-such-validation' is not a known host validation"),
        "{refused:#?}"
    );
    site.merge::<AgentClusterInstall>(
        "demo",
        json!({"metadata": {"annotations": {
        annotation::INSTALL_CONFIG_OVERRIDES: null, annotation::IGNORED_HOST_VALIDATIONS: null,
        annotation::IGNORED_CLUSTER_VALIDATIONS: null,
    }}, "spec": {"manifestsConfigMapRefs": null}}),
    )
    .await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    let found = row(&site, "demo").await.cluster;
    assert_eq!((found.install_config_overrides, found.ignored_host_validations), Default::default());
    assert_eq!(manifests(&site, "demo").await, [""; 0]);
}

#[tokio::test]
async fn what_objects_gave_goes_with_their_fields() {
    let site = Site::new("cluster-given").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    let given =
        json!({"proxy": {"httpProxy": "http://proxy.example.com:3128"}, "ntpSources": ["a.example.com"]});
    install(&site, "demo", given).await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    let found = row(&site, "demo").await.cluster;
    assert_eq!(found.http_proxy, "http://proxy.example.com:3128");
    assert_eq!(found.ntp_sources, "a.example.com");
    // What the objects never gave is the REST API's.
    let params =
        ClusterUpdateParams { hyperthreading: Some(RoleSet::Masters), ..ClusterUpdateParams::default() };
    site.service.clusters().update(&site.caller(), found.id, params).await.unwrap();
    site.merge::<AgentClusterInstall>("demo", json!({"spec": {"proxy": null, "ntpSources": null}})).await;
    let shown = until(&site.api(), "demo", |object: &AgentClusterInstall| {
        !object.annotations().contains_key(annotation::GIVEN_FIELDS)
    })
    .await;
    assert!(finalizer::has(&shown.metadata, names::AGENT_CLUSTER_INSTALL));
    let found = row(&site, "demo").await.cluster;
    assert_eq!((found.http_proxy.as_str(), found.ntp_sources.as_str()), ("", ""));
    assert_eq!(found.hyperthreading, Some(RoleSet::Masters));
    assert_eq!(condition_of(&shown, "SpecSynced").0, "SyncOK");
}

#[tokio::test]
async fn image_mode_comes_with_its_field_and_goes_with_it() {
    let site = Site::new("image-mode").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    install(&site, "demo", json!({"onClusterLayering": {"mode": "Enabled"}})).await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    site.install_says("demo", "OnClusterLayering", "Pending").await;
    assert!(row(&site, "demo").await.in_image_mode);
    let changed = json!({"spec": {"onClusterLayering": {"buildTimeoutMinutes": 120}}});
    site.merge::<AgentClusterInstall>("demo", changed).await;
    wait("the time limit does not come", || async {
        let asked = row(&site, "demo").await.image_mode;
        asked.is_some_and(|asked| {
            asked.build_timeout_minutes == Some(120) && asked.mode.as_deref() == Some("Enabled")
        })
    })
    .await;
    site.merge::<AgentClusterInstall>("demo", json!({"spec": {"onClusterLayering": null}})).await;
    wait("image mode does not go", || async {
        let found = row(&site, "demo").await;
        !found.in_image_mode && found.image_mode.is_none()
    })
    .await;
    site.install_says("demo", "OnClusterLayering", "Disabled").await;
}

#[tokio::test]
async fn mirrors_change_with_their_config_map_alone() {
    let site = Site::new("mirrors").await;
    site.pull_secret().await;
    image_set(&site).await;
    let conf = |mirror: &str| {
        let text =
            format!("[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"{mirror}\"\n");
        json!({"data": {"registries.conf": text}})
    };
    let mut first = conf("one.example.com");
    first["metadata"] = json!({});
    site.create::<ConfigMap>("mirrors", first).await;
    let reference = json!({"mirrorRegistryRef": {"name": "mirrors", "namespace": site.namespace}});
    deployment(&site, "demo").await;
    install(&site, "demo", reference.clone()).await;
    site.infra_env("pool", reference).await;
    let mirrors = async || {
        let cluster = site.service.clusters().of_object(&site.key("demo")).await.unwrap();
        let infra_env = site.service.infra_envs().of_object(&site.key("pool")).await.unwrap();
        let both = [cluster?.mirror_registry, infra_env?.mirror_registry];
        Some(both.map(|mirrors| mirrors.map_or_else(String::new, |mirrors| mirrors.registries_conf)))
    };
    let are = |found: Option<[String; 2]>, mirror: &str| {
        found.is_some_and(|both| both.iter().all(|conf| conf.contains(mirror)))
    };
    wait("the mirrors do not come", || async { are(mirrors().await, "one.example.com") }).await;
    site.merge::<ConfigMap>("mirrors", conf("two.example.com")).await;
    wait("the mirrors stay", || async { are(mirrors().await, "two.example.com") }).await;
    let none = json!({"spec": {"mirrorRegistryRef": null}});
    site.merge::<AgentClusterInstall>("demo", none.clone()).await;
    site.merge::<InfraEnv>("pool", none).await;
    wait("the mirrors do not go", || async { mirrors().await == Some([String::new(), String::new()]) }).await;
}

#[tokio::test]
async fn bad_objects_end_in_a_condition_that_says_what_to_do() {
    let site = Site::new("bad").await;
    site.pull_secret().await;
    image_set(&site).await;
    for (name, fields, reason, text) in [
        ("no-set", json!({"imageSetRef": null}), "InputError", "ClusterImageSet must be specified"),
        (
            "lost-set",
            json!({"imageSetRef": {"name": "none"}}),
            "BackendError",
            "ClusterImageSet none not found",
        ),
        ("external", json!({"platformType": "External"}), "InputError", "external platform spec must be set"),
        (
            "mirrors",
            json!({"mirrorRegistryRef": {"name": "none", "namespace": "bad"}}),
            "InputError",
            "Failed to get referenced ConfigMap",
        ),
        ("ntp", json!({"ntpSources": ["not a name"]}), "InputError", "NTP"),
        (
            "vips",
            json!({"apiVIP": "192.0.2.5", "apiVIPs": ["192.0.2.6"]}),
            "InputError",
            "apiVIP must be the same as the first element of apiVIPs",
        ),
    ] {
        deployment(&site, name).await;
        install(&site, name, fields).await;
        let told = site.install_says(name, "SpecSynced", reason).await;
        assert!(
            condition_of(&told, "SpecSynced").1.contains(text),
            "{name}: {:?}",
            condition_of(&told, "SpecSynced")
        );
        assert_eq!(condition_of(&told, "Completed").0, "NotAvailable", "{name}");
    }
    // A release that nobody can read.
    let unread: ClusterImageSet = serde_json::from_value(json!({
        "metadata": {"name": "unread"}, "spec": {"releaseImage": "registry.example.com/release:1"},
    }))
    .unwrap();
    Api::all(site.client.clone()).create(&PostParams::default(), &unread).await.unwrap();
    deployment(&site, "unread").await;
    install(&site, "unread", json!({"imageSetRef": {"name": "unread"}})).await;
    let told = site.install_says("unread", "SpecSynced", "BackendError").await;
    let text = condition_of(&told, "SpecSynced").1;
    assert!(text.contains("failed to get release image 'registry.example.com/release:1'"), "{text}");
}

#[tokio::test]
async fn a_cluster_that_others_installed_is_taken_in() {
    let site = Site::new("imported").await;
    let told = imported(&site).await;
    assert_eq!(condition_of(&told, "Stopped").0, "InstallationCompleted");
    let found = row(&site, "demo").await.cluster;
    assert_eq!(found.status, ClusterStatus::AddingHosts);
    assert_eq!(found.api_vip_dns_name.as_deref(), Some("api.demo.example.com"));
    // Its hosts come by an InfraEnv of its own.
    site.pull_secret().await;
    let reference =
        json!({"clusterRef": {"name": "demo", "namespace": site.namespace}, "cpuArchitecture": "x86_64"});
    site.infra_env("demo", reference).await;
    until(&site.api(), "demo", |object: &InfraEnv| {
        let conditions = object.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|condition| condition.reason == "InfraEnvAvailable")
    })
    .await;
    let infra_env = site.service.infra_envs().of_object(&site.key("demo")).await.unwrap().unwrap();
    assert_eq!(infra_env.infra_env.cluster_id, Some(found.id));
    // There is no install-config any more that anything could be laid over.
    let annotations = json!({
        annotation::INSTALL_CONFIG_OVERRIDES: r#"{"fips": true}"#, annotation::IGNORED_HOST_VALIDATIONS: "ntp-synced",
    });
    site.merge::<AgentClusterInstall>("demo", json!({"metadata": {"annotations": annotations}})).await;
    wait("the annotations do not come", || async {
        row(&site, "demo").await.cluster.ignored_host_validations == r#"["ntp-synced"]"#
    })
    .await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    assert_eq!(row(&site, "demo").await.cluster.install_config_overrides, "");
    // An AgentClusterInstall whose ClusterDeployment has vanished goes all the same.
    site.remove_by_force::<ClusterDeployment>("demo").await;
    site.delete::<AgentClusterInstall>("demo").await;
    site.gone::<AgentClusterInstall>("demo").await;
    assert!(site.service.clusters().of_object(&site.key("demo")).await.unwrap().is_none());
}
