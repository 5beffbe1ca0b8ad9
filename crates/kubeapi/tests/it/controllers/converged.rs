//! Machines that metal3 inspects and cleans with the image of their InfraEnv, and has installed.

use std::time::Duration;

use assisted_config::Generator;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::condition::find;
use assisted_crd::config::cluster_version::ClusterVersion;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_crd::metal3::preprovisioning_image::PreprovisioningImage;
use assisted_kube::error::optional;
use assisted_kube::finalizer;
use assisted_service::infra_env::DownloadInfraEnvFiles;
use assisted_testkit::{Access, DockerRegistry, oci};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::agent::{infra_env_id, register};
use super::bare_metal_host::{machine, metal3, state, told_address};
use super::own_hub::OwnHub;
use super::spoke::{Spoke, joins, reboots, taken_in};
use super::world::{Site, is_openshift, serving_in, until, wait};
use crate::hub::define;

const VERSION: &str = "4.20.0";
const METAL3: &str = "openshift-machine-api";
const AGENT_IMAGE: &str = "quay.io/lab/ironic-agent:1";
const OVERRIDE: &str = r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/etc/own","contents":{"source":"data:,x"}}]}}"#;

/// What metal3 makes its own images with.
async fn customization(site: &Site, agent_image: &str) {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(METAL3.to_owned());
    let made = Api::all(site.client.clone()).create(&PostParams::default(), &namespace).await;
    drop(made);
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": "metal3-image-customization-config"},
        "stringData": {"IRONIC_BASE_URL": "https://192.0.2.5", "IRONIC_INSPECTOR_BASE_URL": "https://192.0.2.5",
                       "IRONIC_AGENT_IMAGE": agent_image},
    }))
    .unwrap();
    let api = Api::<Secret>::namespaced(site.client.clone(), METAL3);
    drop(api.create(&PostParams::default(), &secret).await);
}

/// metal3 asks for an image for a machine.
async fn image(site: &Site, machine: &BareMetalHost, formats: &[&str]) {
    image_of(site, machine, "rack", "x86_64", formats).await;
}

/// The same, of an InfraEnv and for an architecture.
pub async fn image_of(
    site: &Site,
    machine: &BareMetalHost,
    infra_env: &str,
    architecture: &str,
    formats: &[&str],
) {
    let owner = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": machine.name_any(),
                       "uid": machine.metadata.uid});
    site.create::<PreprovisioningImage>(
        &machine.name_any(),
        json!({
            "metadata": {"labels": {(label::INFRA_ENV): infra_env}, "ownerReferences": [owner]},
            "spec": {"acceptFormats": formats, "architecture": architecture},
        }),
    )
    .await;
}

/// Status and reason of a condition of an image.
fn condition_of<'a>(image: &'a PreprovisioningImage, kind: &str) -> (&'a str, &'a str) {
    let conditions = image.status.iter().flat_map(|status| &status.conditions);
    find(conditions, kind).map_or(("", ""), |entry| (entry.status.as_str(), entry.reason.as_str()))
}

fn url(image: &PreprovisioningImage) -> &str {
    image.status.as_ref().map_or("", |status| status.image_url.as_str())
}

/// The Ignition config that hosts of an InfraEnv get.
async fn discovery(site: &Site, infra_env: &str) -> Value {
    let infra_env_id = infra_env_id(site, infra_env).await;
    let query = DownloadInfraEnvFiles {
        infra_env_id,
        file_name: "discovery.ign".to_owned(),
        discovery_iso_type: None,
        ipxe_script_type: None,
        mac: None,
    };
    let file = site.service.infra_envs().download_files(&site.caller(), query).await.unwrap();
    let pieces: Vec<_> = file.content.try_collect().await.unwrap();
    serde_json::from_slice(&pieces.concat()).unwrap()
}

fn unit<'a>(config: &'a Value, name: &str) -> &'a Value {
    config["systemd"]["units"].as_array().unwrap().iter().find(|unit| unit["name"] == name).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_inspected_with_the_image_of_its_infra_env_and_installed() {
    let site = Site::converged("inspected").await;
    site.pull_secret().await;
    let (images, machines) = (site.api::<PreprovisioningImage>(), site.api::<BareMetalHost>());
    let own = machine(&site, "node-0", "02:FF:00:00:00:00", json!({})).await;
    image(&site, &own, &["iso", "initrd"]).await;
    // Nobody knows the InfraEnv yet.
    let waiting = until(&images, "node-0", |image: &PreprovisioningImage| {
        condition_of(image, "Ready") == ("False", "InfraEnvNotAvailable")
    })
    .await;
    assert!(finalizer::has(&waiting.metadata, names::PREPROVISIONING_IMAGE));
    assert_eq!(waiting.labels()[label::EXCLUDE_FROM_BACKUP], "true");
    customization(&site, AGENT_IMAGE).await;
    site.infra_env("rack", json!({"ignitionConfigOverride": OVERRIDE, "cpuArchitecture": "x86_64"})).await;
    let agent_image = "quay.io/lab/own-agent:2";
    let named =
        json!({"metadata": {"annotations": {(annotation::IRONIC_AGENT_IMAGE_OVERRIDE): agent_image}}});
    site.merge::<InfraEnv>("rack", named).await;

    let ready = until(&images, "node-0", |image: &PreprovisioningImage| {
        condition_of(image, "Ready") == ("True", "InfraEnvAvailable")
    })
    .await;
    assert_eq!(condition_of(&ready, "Error"), ("False", "InfraEnvAvailable"));
    let infra_env = site.api::<InfraEnv>().get("rack").await.unwrap();
    assert_eq!(infra_env.annotations()[annotation::ENABLE_IRONIC_AGENT], "true");
    let status = ready.status.clone().unwrap();
    assert_eq!(status.image_url, infra_env.status.unwrap().iso_download_url);
    assert_eq!((status.format.as_str(), status.architecture.as_str()), ("iso", "x86_64"));
    let config = discovery(&site, "rack").await;
    assert_eq!(unit(&config, "agent.service")["enabled"], false);
    let ironic = unit(&config, "ironic-agent.service");
    assert!(ironic["contents"].as_str().unwrap().contains(agent_image), "{ironic}");
    let paths: Vec<_> =
        config["storage"]["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert!(paths.contains(&&json!("/etc/ironic-python-agent.conf")) && paths.contains(&&json!("/etc/own")));
    let row = site.service.infra_envs().of_object(&site.key("rack")).await.unwrap().unwrap();
    assert_eq!(row.infra_env.ignition_config_override, OVERRIDE, "the user's is shown, and nothing else");

    // The machine may be installed, and is let go when it is.
    let deployed =
        until(&machines, "node-0", |machine: &BareMetalHost| machine.spec.custom_deploy.is_some()).await;
    assert_eq!(deployed.spec.custom_deploy.unwrap().method, "start_assisted_install");
    assert_eq!((deployed.spec.image, deployed.spec.automated_cleaning_mode.as_str()), (None, "metadata"));
    let host = register(&site, infra_env_id(&site, "rack").await).await;
    let mac = told_address(&site, host).await;
    site.merge::<BareMetalHost>("node-0", json!({"spec": {"bootMACAddress": mac}})).await;
    until(&site.api(), &host.host_id.to_string(), |agent: &Agent| agent.spec.approved).await;
    // Another image: the machine, which still runs the first, boots it.
    let before = url(&images.get("node-0").await.unwrap()).to_owned();
    site.merge::<InfraEnv>("rack", json!({"spec": {"imageType": "minimal-iso"}})).await;
    until(&images, "node-0", |image: &PreprovisioningImage| url(image) != before && !url(image).is_empty())
        .await;
    let restarted = until(&machines, "node-0", |machine: &BareMetalHost| {
        machine.annotations().contains_key(annotation::REBOOT)
    })
    .await;
    assert_eq!(restarted.annotations()[annotation::REBOOT], r#"{"force": true}"#);
    site.merge::<BareMetalHost>("node-0", json!({"metadata": {"annotations": {(annotation::REBOOT): null}}}))
        .await;
    metal3(&site, "node-0", state("provisioned", "OK")).await;
    until(&machines, "node-0", |machine: &BareMetalHost| {
        machine.annotations().contains_key(annotation::BMH_DETACHED)
    })
    .await;
    // One that is installed is not restarted.
    let before = url(&images.get("node-0").await.unwrap()).to_owned();
    site.merge::<InfraEnv>("rack", json!({"spec": {"imageType": "full-iso"}})).await;
    until(&images, "node-0", |image: &PreprovisioningImage| url(image) != before && !url(image).is_empty())
        .await;
    assert!(!machines.get("node-0").await.unwrap().annotations().contains_key(annotation::REBOOT));

    // metal3 cleans the machine with its image, which stays until then.
    site.delete::<PreprovisioningImage>("node-0").await;
    site.merge::<BareMetalHost>("node-0", json!({"metadata": {"annotations": {"look": "again"}}})).await;
    let other = machine(&site, "node-1", "02:FF:00:00:00:01", json!({})).await;
    image(&site, &other, &["initrd"]).await;
    let initrd = until(&images, "node-1", |image: &PreprovisioningImage| !url(image).is_empty()).await;
    let status = initrd.status.unwrap();
    assert!(status.extra_kernel_params.starts_with("coreos.live.rootfs_url=http"), "{status:?}");
    assert!(!status.kernel_url.is_empty() && status.format == "initrd");
    assert!(images.get("node-0").await.unwrap().metadata.deletion_timestamp.is_some());
    site.merge::<BareMetalHost>("node-0", json!({"spec": {"automatedCleaningMode": "disabled"}})).await;
    site.gone::<PreprovisioningImage>("node-0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_of_a_deleted_machine_goes_after_its_node_is_empty() {
    let site = Site::converged("emptied").await;
    let spoke = Spoke::lease().await;
    taken_in(&site, &spoke.kubeconfig()).await;
    customization(&site, AGENT_IMAGE).await;
    let reference =
        json!({"clusterRef": {"name": "demo", "namespace": site.namespace}, "cpuArchitecture": "x86_64"});
    site.infra_env("rack", reference).await;
    let host = register(&site, infra_env_id(&site, "rack").await).await;
    let id = host.host_id.to_string();
    let mac = told_address(&site, host).await;
    reboots(&site, host, json!({"approved": true, "hostname": "worker-7"})).await;
    joins(&site, &spoke, host, "worker-7", "1").await;
    let remove =
        json!({(annotation::BMAC_REMOVE_AGENT): "", "bmac.agent-install.openshift.io/hostname": "worker-7"});
    machine(&site, "node-0", &mac, remove).await;
    let machines = site.api::<BareMetalHost>();
    metal3(&site, "node-0", state("provisioned", "detached")).await;
    let detached = until(&machines, "node-0", |machine: &BareMetalHost| {
        machine.annotations().get(annotation::BMH_DETACHED).is_some_and(|value| value.contains("delay"))
            && finalizer::has(&machine.metadata, names::BARE_METAL_HOST)
    })
    .await;
    assert_eq!(detached.annotations()[annotation::BMH_DETACHED], r#"{"deleteAction":"delay"}"#);

    // A pod that nobody ends: its kubelet is not there.
    let pods = Api::<Pod>::namespaced(spoke.client(), "default");
    let pod = |name: &str, grace: i64| -> Pod {
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": {
            "nodeName": "worker-7", "terminationGracePeriodSeconds": grace, "containers": [{"name": "a", "image": "a"}],
        }}))
        .unwrap()
    };
    pods.create(&PostParams::default(), &pod("quick", 0)).await.unwrap();
    pods.create(&PostParams::default(), &pod("slow", 600)).await.unwrap();
    let nodes = Api::<Node>::all(spoke.client());
    site.delete::<BareMetalHost>("node-0").await;
    wait("the pod that can go stays", || async { optional(pods.get("quick").await).unwrap().is_none() })
        .await;
    let draining = until(&machines, "node-0", |machine: &BareMetalHost| {
        machine
            .annotations()
            .get(annotation::BMAC_DRAIN_STATUS)
            .is_some_and(|status| status == "draining in progress")
    })
    .await;
    assert!(draining.annotations().contains_key(annotation::BMAC_DRAIN_STARTED));
    assert_eq!(nodes.get("worker-7").await.unwrap().spec.unwrap().unschedulable, Some(true));
    assert!(draining.annotations().contains_key(annotation::BMH_DETACHED), "metal3 waits for it");

    // Its time is over: metal3 cleans the machine.
    let timeout = json!({"metadata": {"annotations": {(annotation::BMAC_DRAIN_TIMEOUT): "1s"}}});
    site.merge::<BareMetalHost>("node-0", timeout).await;
    let cleaned = until(&machines, "node-0", |machine: &BareMetalHost| {
        machine.spec.automated_cleaning_mode == "metadata"
            && !machine.annotations().contains_key(annotation::BMH_DETACHED)
    })
    .await;
    assert_eq!(cleaned.annotations()[annotation::BMAC_DRAIN_STATUS], "drain timed out");
    assert!(site.api::<Agent>().get(&id).await.unwrap().metadata.deletion_timestamp.is_none());
    metal3(&site, "node-0", state("deleting", "OK")).await;
    site.gone::<BareMetalHost>("node-0").await;
    site.gone::<Agent>(&id).await;
    assert!(site.service.hosts().described(host).await.unwrap().is_none());
    assert!(optional(nodes.get("worker-7").await).unwrap().is_none());
}

/// Pushes a release for an architecture with the agent of Ironic in it; where the two are.
async fn release_with_agent(registry: &DockerRegistry, architecture: &str) -> [String; 2] {
    let layer = oci::Layer::new().unwrap().file("etc/x", architecture.as_bytes()).unwrap();
    let agent = oci::Image::new(architecture, vec![layer.finish().unwrap()]).unwrap();
    let agent = oci::push(registry, "ironic/agent", None, &agent).await.unwrap();
    let release = oci::ReleaseImage {
        version: VERSION.to_owned(),
        architecture: architecture.to_owned(),
        components: vec![("ironic-agent".to_owned(), agent.clone())],
        operator: Vec::new(),
    };
    let tag = format!("{VERSION}-{architecture}");
    oci::push(registry, "ocp/release", Some(&tag), &release.build().unwrap()).await.unwrap();
    [format!("{}/ocp/release:{tag}", registry.name()), agent]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_of_ironic_comes_from_the_release_of_the_hub_or_one_of_its_version() {
    let dir = tempfile::tempdir().unwrap();
    let registry = DockerRegistry::start(&dir.path().join("images"), &Access::default()).unwrap();
    let [own, own_agent] = release_with_agent(&registry, "amd64").await;
    let [other, other_agent] = release_with_agent(&registry, "arm64").await;
    let conf = dir.path().join("registries.conf");
    let plain = format!("[[registry]]\nlocation = \"{}\"\ninsecure = true\n", registry.name());
    std::fs::write(&conf, plain).unwrap();

    let mut hub = OwnHub::lease().await;
    hub.served = serving_in(dir.path(), |settings| {
        settings.generation.generator = Generator::Openshift;
        settings.images.registries_conf = conf.to_str().unwrap().to_owned();
    })
    .await;
    define(&hub.client, |group| group == "config.openshift.io").await;
    is_openshift(&hub.client).await;
    let versions = Api::<ClusterVersion>::all(hub.client.clone());
    let version: ClusterVersion =
        serde_json::from_value(json!({"metadata": {"name": "version"}, "spec": {"clusterID": "c"}})).unwrap();
    versions.create(&PostParams::default(), &version).await.unwrap();
    let status = json!({"status": {"desired": {"image": own, "version": VERSION}, "availableUpdates": [],
                                   "observedGeneration": 1, "versionHash": "x"}});
    versions.patch_status("version", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let image_set: ClusterImageSet =
        serde_json::from_value(json!({"metadata": {"name": "arm"}, "spec": {"releaseImage": other}}))
            .unwrap();
    Api::all(hub.client.clone()).create(&PostParams::default(), &image_set).await.unwrap();
    hub.start(Duration::from_secs(15)).await;
    let site = hub.site("released").await;
    site.pull_secret().await;
    // metal3's own image is in no registry.
    customization(&site, &format!("{}/ironic/none:1", registry.name())).await;

    for (name, architecture, agent) in [("rack", "x86_64", own_agent), ("arm", "arm64", other_agent)] {
        site.infra_env(name, json!({"cpuArchitecture": architecture})).await;
        let machine = machine(&site, name, "02:FF:00:00:01:00", json!({})).await;
        image_of(&site, &machine, name, architecture, &["iso"]).await;
        until(&site.api(), name, |image: &PreprovisioningImage| {
            condition_of(image, "Ready") == ("True", "InfraEnvAvailable")
        })
        .await;
        let config = discovery(&site, name).await;
        let ironic = unit(&config, "ironic-agent.service")["contents"].as_str().unwrap();
        assert!(ironic.contains(&agent), "{agent} is not in {ironic}");
    }
    hub.stop().await;
}
