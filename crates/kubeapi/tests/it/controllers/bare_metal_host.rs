//! BareMetalHosts: the test plays metal3, by what it writes into their status.

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::finalizer;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::agent::{infra_env_id, register, report_sufficient};
use super::world::{Site, until};

const HOSTNAME: &str = "bmac.agent-install.openshift.io/hostname";

/// What metal3 says of a machine.
pub async fn metal3(site: &Site, name: &str, status: Value) {
    let patch = Patch::Merge(json!({ "status": status }));
    site.api::<BareMetalHost>().patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}

pub fn state(state: &str, operational: &str) -> Value {
    json!({
        "errorCount": 0, "errorMessage": "", "hardwareProfile": "", "operationalStatus": operational, "poweredOn": true,
        "provisioning": {"ID": "", "state": state, "image": {"url": ""}}, "lastUpdated": "2024-01-01T00:00:00Z",
    })
}

pub async fn machine(site: &Site, name: &str, mac: &str, annotations: Value) -> BareMetalHost {
    site.create(
        name,
        json!({
            "metadata": {"labels": {(label::INFRA_ENV): "rack"}, "annotations": annotations},
            "spec": {"bootMACAddress": mac, "online": false, "rootDeviceHints": {"minSizeGigabytes": 1},
                     "bmc": {"address": "redfish-virtualmedia://192.0.2.1/1", "credentialsName": "bmc"}},
        }),
    )
    .await
}

/// A host tells its inventory; the hardware address that its Agent shows.
pub async fn told_address(site: &Site, host: HostKey) -> String {
    report_sufficient(site, host).await;
    let shown = until(&site.api(), &host.host_id.to_string(), |agent: &Agent| {
        agent.status.as_ref().is_some_and(|status| status.inventory.is_some())
    })
    .await;
    shown.status.unwrap().inventory.unwrap().interfaces[0].mac_address.clone()
}

#[tokio::test]
async fn a_machine_boots_its_image_and_is_handed_over() {
    let site = Site::new("machine").await;
    site.pull_secret().await;
    let bmc = json!({"metadata": {}, "stringData": {"username": "root", "password": "calvin"}});
    site.create::<Secret>("bmc", bmc).await;
    let api = site.api::<BareMetalHost>();
    // The machine is there before its InfraEnv.
    machine(&site, "node-0", "02:FF:00:00:00:00", json!({"foreign": "stays"})).await;
    until(&api, "node-0", |object: &BareMetalHost| finalizer::has(&object.metadata, names::BARE_METAL_HOST))
        .await;
    site.infra_env("rack", json!({})).await;
    let infra_env = infra_env_id(&site, "rack").await;
    let prepared = until(&api, "node-0", |object: &BareMetalHost| {
        object.annotations().contains_key(annotation::INSPECT)
    })
    .await;
    assert_eq!(prepared.labels()[label::BACKUP], "true");
    assert_eq!(prepared.spec.automated_cleaning_mode, "disabled");
    metal3(&site, "node-0", state("available", "OK")).await;
    let url = site.api::<InfraEnv>().get("rack").await.unwrap().status.unwrap().iso_download_url;
    let booted = until(&api, "node-0", |object: &BareMetalHost| object.spec.image.is_some()).await;
    assert_eq!(booted.spec.image.as_ref().unwrap().url, url);
    assert!(booted.spec.online);

    // It registers, and its Agent becomes what the annotations say.
    let host = register(&site, infra_env).await;
    let name = host.host_id.to_string();
    let mac = told_address(&site, host).await.to_uppercase();
    site.merge::<BareMetalHost>(
        "node-0",
        json!({
            "metadata": {"annotations": {
                (HOSTNAME): "node-0", "bmac.agent-install.openshift.io/role": "worker",
                "bmac.agent-install.openshift.io.node-label.zone": "a",
                "bmac.agent-install.openshift.io.agent-label.rack": "7",
                "bmac.agent-install.openshift.io/create-fencing-credentials-secret": "",
            }},
            "spec": {"bootMACAddress": mac},
        }),
    )
    .await;
    let agent = until(&site.api(), &name, |agent: &Agent| agent.spec.hostname == "node-0").await;
    assert!(agent.spec.approved && !agent.spec.installation_disk_id.is_empty());
    assert_eq!((agent.spec.role.as_str(), agent.spec.node_labels["zone"].as_str()), ("worker", "a"));
    assert_eq!(
        (agent.labels()["rack"].as_str(), agent.labels()[label::BARE_METAL_HOST].as_str()),
        ("7", "node-0")
    );
    let fencing = site.api::<Secret>().get(&agent.spec.fencing_credentials_secret_ref).await.unwrap();
    let data = fencing.data.clone().unwrap();
    assert_eq!(data["password"].0, b"calvin");
    assert_eq!(data["certificateVerification"].0, b"Enabled");
    assert_eq!(fencing.labels()[label::WATCH], "true");
    let known = until(&api, "node-0", |object: &BareMetalHost| {
        object.annotations().contains_key(annotation::HARDWARE_DETAILS)
    })
    .await;
    assert_eq!(known.annotations()["foreign"], "stays");
    assert!(known.annotations()[annotation::HARDWARE_DETAILS].contains("node-0"));

    // metal3 lets go of it; its status is kept with all that is in it.
    site.merge::<BareMetalHost>(
        "node-0",
        json!({"metadata": {"annotations": {(annotation::BMH_DETACHED): "somebody"}}}),
    )
    .await;
    metal3(&site, "node-0", state("provisioned", "detached")).await;
    let paused = until(&api, "node-0", |object: &BareMetalHost| {
        object.annotations().contains_key(annotation::BMH_PAUSED)
    })
    .await;
    let kept: Value = serde_json::from_str(&paused.annotations()[annotation::BMH_STATUS]).unwrap();
    assert_eq!(
        (&kept["operationalStatus"], &kept["lastUpdated"]),
        (&json!("detached"), &json!("2024-01-01T00:00:00Z"))
    );

    // It goes, and the Agent stays.
    site.delete::<BareMetalHost>("node-0").await;
    site.gone::<BareMetalHost>("node-0").await;
    assert!(site.api::<Agent>().get(&name).await.unwrap().metadata.deletion_timestamp.is_none());
}

#[tokio::test]
async fn a_machine_that_finds_everything_in_place_is_not_written() {
    let site = Site::new("machines").await;
    site.pull_secret().await;
    site.infra_env("rack", json!({})).await;
    let infra_env = infra_env_id(&site, "rack").await;
    let host = register(&site, infra_env).await;
    let name = host.host_id.to_string();
    let mac = told_address(&site, host).await;
    let api = site.api::<BareMetalHost>();
    machine(&site, "node-0", &mac, json!({(HOSTNAME): "one"})).await;
    metal3(&site, "node-0", state("available", "OK")).await;
    until(&site.api(), &name, |agent: &Agent| agent.spec.hostname == "one").await;
    let before = until(&api, "node-0", |object: &BareMetalHost| {
        object.spec.image.is_some() && object.annotations().contains_key(annotation::HARDWARE_DETAILS)
    })
    .await;
    // Another machine without a host is looked at after that one.
    let edit = json!({"metadata": {"annotations": {"foreign": "1"}}});
    let edited = site.merge::<BareMetalHost>("node-0", edit).await;
    machine(&site, "node-1", "02:FF:00:00:00:01", json!({})).await;
    until(&api, "node-1", |object: &BareMetalHost| object.annotations().contains_key(annotation::INSPECT))
        .await;
    let after = api.get("node-0").await.unwrap();
    assert_eq!(after.metadata.resource_version, edited.metadata.resource_version);
    assert_eq!(after.spec, before.spec);

    // Without the label it is nobody's here.
    let label = json!({"metadata": {"labels": {(label::INFRA_ENV): null}}});
    site.merge::<BareMetalHost>("node-0", label).await;
    until(&api, "node-0", |object: &BareMetalHost| !finalizer::has(&object.metadata, names::BARE_METAL_HOST))
        .await;
}
