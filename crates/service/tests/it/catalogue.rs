//! Releases that were learned of are offered beside those that are configured.

use std::sync::Arc;

use assisted_blob::Blob;
use assisted_config::Settings;
use assisted_service::catalogue::{ListOpenshiftVersions, open};
use assisted_service::generator::Simulation;
use assisted_service::{Caller, Service};
use assisted_store::Store;
use serde_json::json;
use uuid::Uuid;

use crate::lab::{Database, PULL_SECRET};

#[test]
fn nobody_is_asked_unless_it_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    assert!(open(&Settings::default(), dir.path()).unwrap().is_none());
    let mut settings = Settings::default();
    "no url".clone_into(&mut settings.versions.updates_url);
    let error = open(&settings, dir.path()).unwrap_err().to_string();
    assert!(error.contains("OCM_BASE_URL=no url"), "{error}");
}

#[tokio::test]
async fn what_was_learned_is_offered_without_the_network() {
    let database = Database::sqlite();
    let dir = tempfile::tempdir().unwrap();
    let url = "quay.io/openshift-release-dev/ocp-release:4.22.77-x86_64";
    let learned = json!([{
        "openshift_version": "4.22", "version": "4.22.77", "url": url, "cpu_architecture": "x86_64",
        "cpu_architectures": ["x86_64"], "support_level": "production",
    }]);
    std::fs::write(dir.path().join("releases.json"), learned.to_string()).unwrap();
    let mut settings = Settings::default();
    // Nobody listens there.
    for place in [&mut settings.versions.updates_url, &mut settings.versions.life_cycles_url] {
        "http://127.0.0.1:1".clone_into(place);
    }
    let known = open(&settings, dir.path()).unwrap().unwrap();
    let store = Store::open(&database.address).await.unwrap();
    let blob = Blob::open(database.files()).await.unwrap();
    let (service, background) =
        Service::builder(settings, store, blob, Arc::new(Simulation)).unwrap().catalogue(known).start();
    let caller = Caller::admin(Uuid::new_v4());
    let offered = service
        .catalogue()
        .list_supported_openshift_versions(&caller, ListOpenshiftVersions::default())
        .await
        .unwrap();
    assert!(offered.0.contains_key("4.22.77") && offered.0.contains_key("4.22.9"));
    let params = json!({"name": "c", "openshift_version": "4.22", "pull_secret": PULL_SECRET});
    let params = serde_json::from_value(params).unwrap();
    let cluster = Box::pin(service.clusters().register(&caller, params)).await.unwrap();
    assert_eq!(cluster.ocp_release_image, url);
    background.stop().await;
}
