//! InfraEnvs.

use std::time::Duration;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_kube::finalizer;
use assisted_wire::infra_env::InfraEnvUpdateParams;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::agent::register;
use super::own_hub::OwnHub;
use super::world::{Site, serving_in, until, wait};

/// Reason and message of the condition of an InfraEnv.
fn condition_of(object: &InfraEnv) -> (&str, &str) {
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    conditions.last().map_or(("", ""), |condition| (condition.reason.as_str(), condition.message.as_str()))
}

fn is_available(object: &InfraEnv) -> bool {
    condition_of(object).0 == "InfraEnvAvailable"
}

#[tokio::test]
async fn an_infra_env_comes_with_its_object_and_goes_with_it() {
    let site = Site::new("infra-env").await;
    let api = site.api::<InfraEnv>();
    // The credentials come late.
    site.infra_env("rack", json!({"sshAuthorizedKey": "", "additionalNTPSources": ["ntp.example.com"]}))
        .await;
    let failed = until(&api, "rack", |object| condition_of(object).0 == "ImageCreationError").await;
    assert!(condition_of(&failed).1.contains("failed to find secret pull"), "{failed:#?}");
    site.pull_secret().await;

    let shown = until(&api, "rack", is_available).await;
    assert!(finalizer::has(&shown.metadata, names::INFRA_ENV));
    let status = shown.status.clone().unwrap();
    let row = site.service.infra_envs().of_object(&site.key("rack")).await.unwrap().unwrap().infra_env;
    assert_eq!(row.additional_ntp_sources, "ntp.example.com");
    assert_eq!(status.iso_download_url, row.download_url);
    assert!(status.iso_download_url.contains(&row.id.to_string()), "{status:#?}");
    assert!(status.created_time.is_some());
    let events = status.debug_info.unwrap().events_url;
    assert!(events.ends_with(&format!("/v2/events?infra_env_id={}", row.id)), "{events}");
    let artifacts = status.boot_artifacts.unwrap();
    assert!(artifacts.ipxe_script.contains("file_name=ipxe-script"), "{artifacts:#?}");
    assert!(artifacts.kernel.contains("/boot-artifacts/kernel?arch=x86_64"), "{artifacts:#?}");
    let secret = site.api::<Secret>().get("pull").await.unwrap();
    assert_eq!(
        (secret.labels()[label::WATCH].as_str(), secret.labels()[label::BACKUP].as_str()),
        ("true", "true")
    );

    // An annotation changes nothing.
    let before = until(&api, "rack", is_available).await;
    site.merge::<InfraEnv>("rack", json!({"metadata": {"annotations": {"a": "b"}}})).await;
    // Whatever is to follow has followed by then.
    site.infra_env("next", json!({})).await;
    until(&api, "next", is_available).await;
    let after = api.get("rack").await.unwrap();
    assert_eq!(after.status, before.status);
    assert_eq!(after.metadata.generation, before.metadata.generation);
    let arguments = json!([{"operation": "append", "value": "a=b"}]);
    site.merge::<InfraEnv>("rack", json!({"spec": {"kernelArguments": arguments}})).await;
    let row_has = |text: &'static str| {
        let site = &site;
        move || async move {
            let row = site.service.infra_envs().of_object(&site.key("rack")).await.unwrap().unwrap();
            row.infra_env.kernel_arguments.unwrap_or_default().contains(text)
        }
    };
    wait("the argument does not come", row_has("a=b")).await;
    site.merge::<InfraEnv>("rack", json!({"spec": {"kernelArguments": null}})).await;
    wait("the argument stays", || async { !row_has("a=b")().await }).await;
    // What is laid over the config of the image makes another image.
    let image = |object: &InfraEnv| object.status.as_ref().and_then(|status| status.created_time.clone());
    let before = until(&api, "rack", |object| image(object).is_some()).await;
    // It is told by the second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let overrides = r#"{"ignition": {"version": "3.2.0"}}"#;
    site.merge::<InfraEnv>("rack", json!({"spec": {"ignitionConfigOverride": overrides}})).await;
    until(&api, "rack", |object| image(object) > image(&before)).await;

    site.delete::<InfraEnv>("rack").await;
    site.gone::<InfraEnv>("rack").await;
    assert!(site.service.infra_envs().of_object(&site.key("rack")).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_image_service_there_is_an_infra_env_without_an_image() {
    let dir = tempfile::tempdir().unwrap();
    let mut hub = OwnHub::lease().await;
    hub.served = serving_in(dir.path(), |settings| settings.http.enable_image_service = false).await;
    hub.start(Duration::from_secs(15)).await;
    let site = hub.site("imageless").await;
    site.pull_secret().await;
    site.infra_env("rack", json!({})).await;
    let shown = until(&site.api(), "rack", is_available).await;
    assert_eq!(condition_of(&shown).1, "InfraEnv is available");
    let status = shown.status.unwrap();
    assert_eq!((status.iso_download_url.as_str(), status.created_time), ("", None));
    assert_eq!(status.boot_artifacts, None);
    // Hosts come by an image of somebody else.
    let row = site.service.infra_envs().of_object(&site.key("rack")).await.unwrap().unwrap().infra_env;
    assert_eq!(row.download_url, "");
    let host = register(&site, row.id).await;
    until(&site.api(), &host.host_id.to_string(), |_: &Agent| true).await;
    hub.stop().await;
}

#[tokio::test]
async fn what_an_object_gave_goes_with_its_fields() {
    let site = Site::new("given").await;
    site.pull_secret().await;
    let api = site.api::<InfraEnv>();
    let bundle = rcgen::generate_simple_self_signed(["proxy".to_owned()]).unwrap().cert.pem();
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti me";
    let ignition = r#"{"ignition":{"version":"3.1.0"}}"#;
    let given = json!({
        "proxy": {"httpProxy": "http://proxy.example.com:3128"}, "additionalNTPSources": ["a.example.com"],
        "additionalTrustBundle": bundle, "ignitionConfigOverride": ignition, "sshAuthorizedKey": key,
    });
    site.infra_env("rack", given.clone()).await;
    until(&api, "rack", is_available).await;
    let row =
        || async { site.service.infra_envs().of_object(&site.key("rack")).await.unwrap().unwrap().infra_env };
    let before = row().await;
    assert_eq!(before.additional_trust_bundle, bundle.trim());
    assert_eq!(
        (before.ssh_authorized_key.as_str(), before.ignition_config_override.as_str()),
        (key, ignition)
    );
    // What the object never gave is the REST API's.
    let params =
        InfraEnvUpdateParams { network_discovery_delay_seconds: Some(7), ..InfraEnvUpdateParams::default() };
    site.service.infra_envs().update(&site.caller(), before.id, params).await.unwrap();

    let mut gone = given;
    gone.as_object_mut().unwrap().values_mut().for_each(|field| *field = Value::Null);
    // One list instead of the other, which the service never has both of.
    gone["ntpSources"] = json!(["b.example.com"]);
    site.merge::<InfraEnv>("rack", json!({"spec": gone})).await;
    wait("what the object gave does not go", || async {
        let row = row().await;
        let proxy = row.proxy.unwrap_or_default().http_proxy.unwrap_or_default();
        let texts = [
            proxy,
            row.additional_ntp_sources,
            row.additional_trust_bundle,
            row.ignition_config_override,
            row.ssh_authorized_key,
        ];
        texts.iter().all(String::is_empty) && row.ntp_sources == "b.example.com"
    })
    .await;
    assert_eq!(row().await.network_discovery_delay_seconds, Some(7));
    // It is another image, which is shown; and the object is remembered to give one field alone.
    let shown = until(&api, "rack", |object: &InfraEnv| {
        object.annotations().get(annotation::GIVEN_FIELDS).map(String::as_str) == Some("ntp_sources")
    })
    .await;
    assert!(is_available(&shown), "{shown:#?}");
    let ntp = InfraEnvUpdateParams {
        ntp_sources: Some(String::new()),
        ssh_authorized_key: Some(key.to_owned()),
        ..InfraEnvUpdateParams::default()
    };
    site.service.infra_envs().update(&site.caller(), before.id, ntp).await.unwrap();
    // What the object gives comes back; what it gave before is the REST API's again.
    wait("the time source does not come back", || async { row().await.ntp_sources == "b.example.com" }).await;
    assert_eq!(row().await.ssh_authorized_key, key);
}

#[tokio::test]
async fn static_networks_come_and_go_with_their_objects() {
    let site = Site::new("networks").await;
    site.pull_secret().await;
    let selector = json!({"matchExpressions": [{"key": "site", "operator": "In", "values": ["a"]}]});
    site.infra_env("rack", json!({"nmStateConfigLabelSelector": selector})).await;
    until(&site.api::<InfraEnv>(), "rack", is_available).await;
    let config = json!({
        "metadata": {"labels": {"site": "a"}},
        "spec": {
            "interfaces": [{"name": "eth0", "macAddress": "02:00:00:00:00:01"}],
            "config": {"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up",
                "ipv4": {"enabled": true, "dhcp": false, "address": [{"ip": "192.0.2.20", "prefix-length": 24}]}}]},
        },
    });
    site.create::<NMStateConfig>("host-0", config).await;
    let row =
        || async { site.service.infra_envs().of_object(&site.key("rack")).await.unwrap().unwrap().infra_env };
    wait("the network does not come", || async { row().await.static_network_config.contains("192.0.2.20") })
        .await;
    let shown = until(&site.api::<InfraEnv>(), "rack", |object: &InfraEnv| {
        let debug = object.status.as_ref().and_then(|status| status.debug_info.as_ref());
        debug.is_some_and(|debug| !debug.static_network_download_url.is_empty())
    })
    .await;
    assert!(is_available(&shown));
    site.delete::<NMStateConfig>("host-0").await;
    wait("the network stays", || async { !row().await.static_network_config.contains("192.0.2.20") }).await;
}

#[tokio::test]
async fn what_contradicts_is_told_and_what_is_missing_waited_for() {
    let site = Site::new("contradictions").await;
    site.pull_secret().await;
    let api = site.api::<InfraEnv>();
    site.infra_env("bound", json!({"clusterRef": {"name": "none", "namespace": site.namespace}})).await;
    let missing = until(&api, "bound", |object| condition_of(object).0 == "MissingClusterDeployment").await;
    assert!(
        condition_of(&missing).1.contains("failed to get clusterDeployment with name none"),
        "{missing:#?}"
    );

    let both = json!({"ntpSources": ["a.example.com"], "additionalNTPSources": ["b.example.com"]});
    site.infra_env("both", both).await;
    let refused = until(&api, "both", |object| condition_of(object).0 == "ImageCreationError").await;
    assert!(condition_of(&refused).1.starts_with("Failed to create image: "), "{refused:#?}");
    // Mended by who wrote it.
    site.merge::<InfraEnv>("both", json!({"spec": {"ntpSources": null}})).await;
    until(&api, "both", is_available).await;

    site.infra_env("odd", json!({"imageType": "tiny"})).await;
    let refused = until(&api, "odd", |object| condition_of(object).0 == "ImageCreationError").await;
    assert!(condition_of(&refused).1.contains("spec.imageType"), "{refused:#?}");
    let mirrors = json!({"mirrorRegistryRef": {"name": "none", "namespace": site.namespace}});
    site.infra_env("mirrors", mirrors).await;
    let refused = until(&api, "mirrors", |object| condition_of(object).0 == "ImageCreationError").await;
    assert!(condition_of(&refused).1.contains("Failed to get referenced ConfigMap"), "{refused:#?}");
}
