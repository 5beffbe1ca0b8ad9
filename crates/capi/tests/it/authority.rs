//! The authority by which the service proves its name: from an object of the hub, whose change counts at once.

use assisted_capi::installer::hub::{Authority, Hub, Options, Source};
use assisted_capi::installer::{InfraEnv, Installer};
use assisted_testkit::Authority as Maker;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;

use crate::world::Site;

#[tokio::test]
async fn the_service_is_trusted_by_an_authority_of_the_hub() {
    let site = Site::new("trusted").await;
    let images = tempfile::tempdir().unwrap();
    let maker = Maker::new("service").unwrap();
    let server = maker.registry(images.path(), &["127.0.0.1"], (2020, 2090)).unwrap();
    let infra_env = InfraEnv {
        ignition_url: Some(format!("https://{}/v2/?api_key=hidden", server.name())),
        ..InfraEnv::default()
    };
    let of = async |authority: Option<(Source, &str, &str, bool)>| {
        let authority = authority.map(|(source, name, key, required)| Authority {
            source,
            namespace: "trusted".to_owned(),
            name: name.to_owned(),
            key: key.to_owned(),
            required,
        });
        let hub = Hub::new(site.client.clone(), Options { internal: None, authority });
        hub.ignition(&infra_env).await.map_err(|failure| failure.message)
    };
    let untrusted = of(None).await.unwrap_err();
    assert!(untrusted.starts_with("ignition request to https://127.0.0.1"), "{untrusted}");
    assert!(!untrusted.contains("hidden"), "{untrusted}");

    let map =
        json!({"metadata": {}, "data": {"ca.crt": maker.pem, "broken": "-----BEGIN CERTIFICATE-----\nx"}});
    site.create::<ConfigMap>("authority", map).await;
    let data = json!({"ca.crt": ByteString(maker.pem.clone().into_bytes())});
    site.create::<Secret>("authority", json!({"metadata": {}, "data": data})).await;
    for source in [Source::ConfigMap, Source::Secret] {
        assert_eq!(of(Some((source, "authority", "ca.crt", true))).await.unwrap(), b"{}");
    }
    let error = of(Some((Source::Secret, "authority", "other", true))).await.unwrap_err();
    assert_eq!(error, "key other not found in secret trusted/authority");
    let error = of(Some((Source::ConfigMap, "authority", "broken", true))).await.unwrap_err();
    assert_eq!(error, "failed to append additional certificates of configmap trusted/authority");
    let error = of(Some((Source::Secret, "nowhere", "ca.crt", true))).await.unwrap_err();
    assert!(error.starts_with("failed to retrieve cert from secret trusted/nowhere"), "{error}");
    // One that may be missing: the system's authorities are all there is.
    assert_eq!(of(Some((Source::Secret, "nowhere", "ca.crt", false))).await.unwrap_err(), untrusted);
}
