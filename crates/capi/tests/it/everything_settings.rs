//! The core of Cluster API judges: settings of a cluster on their way from manifests to the installer's cluster and its install-config,
//! and those that can't be.

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_crd::condition::find;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_wire::id::ClusterId;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::core_world::World;
use crate::metal3::{Metal3, Playing};
use crate::world::{Site, wait};

/// What the examples say of a cluster's addresses.
const ADDRESSES: &str = "    apiVIPs: [10.0.0.2]\n    ingressVIPs: [10.0.0.3]\n";

/// The examples in a namespace of their own, with other settings in the place of the addresses; their infrastructure comes.
async fn described(
    world: &World,
    playing: &mut Vec<Playing>,
    namespace: &'static str,
    settings: &str,
) -> Site {
    world.kubectl(&["create", "namespace", namespace]).await;
    let settings = settings.to_owned();
    world.apply_examples_to(namespace, move |text| text.replace(ADDRESSES, &settings)).await;
    let site = Site { client: world.site.client.clone(), namespace, service: world.address };
    playing.push(Metal3::start(site.clone()));
    site
}

async fn says(site: &Site, words: &[&str]) {
    let is_said = |plane: &Plane| {
        let conditions = plane.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        find(conditions, "Available").is_some_and(|found| {
            found.status == "False" && words.iter().all(|word| found.message.contains(word))
        })
    };
    site.until::<Plane>("demo", is_said).await;
}

/// The AgentClusterInstall, once the service has the cluster; and the id there.
async fn taken(world: &World, site: &Site) -> (AgentClusterInstall, ClusterId) {
    let is_taken = |install: &AgentClusterInstall| {
        let status = install.status.as_ref();
        status.is_some_and(|status| {
            find(&status.conditions, "SpecSynced").is_some_and(|found| found.status == "True")
        })
    };
    let install = site.until("demo", is_taken).await;
    let key = ObjectKey::new(site.namespace, "demo");
    (install, world.service.clusters().of_object(&key).await.unwrap().unwrap().cluster.id)
}

async fn install_config(world: &World, id: ClusterId) -> Value {
    let rest = world.rest();
    wait("there is an install-config", async || rest.cluster_install_config(id).await.is_ok()).await;
    let text = rest.cluster_install_config(id).await.unwrap();
    serde_yaml_ng::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_settings_arrives_in_the_install_config() {
    let world = World::launch().await;
    let mut playing = Vec::new();
    let proxy = "    proxy:\n      httpProxy: http://proxy.example.com:3128\n      httpsProxy: http://proxy.example.com:3129\n      \
                 noProxy: .example.com\n";
    let more = "    sshAuthorizedKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n    \
                diskEncryption:\n      enableOn: all\n      mode: tpmv2\n";
    let site = described(&world, &mut playing, "metal", &format!("{ADDRESSES}{proxy}{more}")).await;
    let (install, id) = taken(&world, &site).await;
    let spec = serde_json::to_value(&install.spec).unwrap();
    assert_eq!(spec["proxy"]["httpsProxy"], "http://proxy.example.com:3129");
    assert_eq!(spec["diskEncryption"], json!({"enableOn": "all", "mode": "tpmv2"}));
    assert_eq!((&spec["apiVIPs"], &spec["platformType"]), (&json!(["10.0.0.2"]), &json!("BareMetal")));
    // Mirrors are told in manifests, of the cluster's own.
    let manifests = &spec["manifestsConfigMapRefs"];
    assert_eq!(manifests, &json!([{"name": "demo-additional-registry-config"}]));
    let mirrors = site.find::<ConfigMap>("demo-additional-registry-config").await.unwrap().data.unwrap();
    assert!(mirrors.values().any(|text| text.contains(&world.registry)), "{mirrors:?}");
    let cluster = world.rest().get_cluster(id).await.unwrap();
    let encryption = json!(cluster.disk_encryption);
    assert_eq!((&encryption["enable_on"], &encryption["mode"]), (&json!("all"), &json!("tpmv2")));
    let config = install_config(&world, id).await;
    assert_eq!(config["proxy"]["httpProxy"], "http://proxy.example.com:3128", "{config:#}");
    let direct = config["proxy"]["noProxy"].as_str().unwrap();
    assert!(direct.contains(".example.com"), "{direct}");
    assert_eq!(config["platform"]["baremetal"]["apiVIPs"], json!(["10.0.0.2"]), "{config:#}");
    assert!(config["sshKey"].as_str().unwrap().starts_with("ssh-ed25519 "), "{config:#}");
    assert_eq!((&config["baseDomain"], &config["metadata"]["name"]), (&json!("example.com"), &json!("demo")));

    // Without addresses, and on a platform that OpenShift does not know.
    let none = described(&world, &mut playing, "none", "").await;
    let (install, id) = taken(&world, &none).await;
    assert_eq!(json!(install.spec.platform_type), "None");
    assert_eq!(install_config(&world, id).await["platform"], json!({"none": {}}));
    let external = described(&world, &mut playing, "external", "").await;
    let name = json!({"controlplane.cluster.x-k8s.io/external-platform": "oci"});
    external.merge::<Plane>("demo", json!({"metadata": {"annotations": name}})).await;
    let is_external = |install: &AgentClusterInstall| {
        json!(install.spec.platform_type) == "External"
            && install.spec.external.as_ref().is_some_and(|external| external.platform_name == "oci")
    };
    external.until("demo", is_external).await;
    let (_, id) = taken(&world, &external).await;
    wait("the install-config has the platform's name", async || {
        install_config(&world, id).await["platform"]["external"]["platformName"] == "oci"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_does_not_fit_is_told_and_mended() {
    let world = World::launch().await;
    let mut playing = Vec::new();
    let half = described(&world, &mut playing, "half", "    apiVIPs: [10.0.0.2]\n").await;
    says(&half, &["apiVIPs and ingressVIPs belong together"]).await;
    assert!(half.find::<AgentClusterInstall>("demo").await.is_none());
    half.merge::<Plane>("demo", json!({"spec": {"config": {"ingressVIPs": ["10.0.0.3"]}}})).await;
    taken(&world, &half).await;

    let tang = "    diskEncryption:\n      enableOn: all\n      mode: tang\n";
    let tang = described(&world, &mut playing, "tang", &format!("{ADDRESSES}{tang}")).await;
    says(&tang, &["tang_servers isn't set"]).await;
    let encryption = json!({"enableOn": "all", "mode": "tpmv2"});
    tang.merge::<Plane>("demo", json!({"spec": {"config": {"diskEncryption": encryption}}})).await;
    taken(&world, &tang).await;

    let proxy = "    proxy:\n      httpProxy: https://proxy.example.com:3128\n";
    let proxy = described(&world, &mut playing, "proxy", &format!("{ADDRESSES}{proxy}")).await;
    says(&proxy, &["The URL scheme must be http"]).await;
    proxy.merge::<Plane>("demo", json!({"spec": {"config": {"proxy": null}}})).await;
    taken(&world, &proxy).await;
}
