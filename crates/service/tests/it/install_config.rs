//! The install config and its overrides.

use assisted_core::model::refusal::RefusalKind;
use assisted_service::Error;
use assisted_wire::cluster::ClusterKind;
use assisted_wire::id::ClusterId;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, PULL_SECRET, Time, on_one_engine, refusal};
use crate::stages::changed;

on_one_engine![shown_and_overridden, of_no_use_on_day_2, image_mode_beside_it];

impl Lab {
    async fn install_config(&self, id: ClusterId) -> Value {
        let text = self.service.clusters().get_install_config(&self.caller, id).await.unwrap();
        assert!(!format!("{text:?}").contains("auths"));
        serde_json::from_str(text.expose()).unwrap()
    }

    async fn override_config(&self, id: ClusterId, overrides: &str) -> Result<(), Error> {
        self.service.clusters().update_install_config(&self.caller, id, overrides).await
    }
}

/// What the API takes of image mode and what overrides say of it are one: shown together, and refused where they say otherwise.
async fn image_mode_beside_it(database: Database) {
    let lab = Lab::with(&database, Time::default(), |settings| settings.layering.preview = true).await;
    let id = lab.single_node().await.id;
    let host = lab.host(lab.infra_env(Some(id)).await.id).await;
    lab.report_all(host, 1).await;
    let ask = async |asked: Value| {
        let params = serde_json::from_value(json!({"on_cluster_layering": asked})).unwrap();
        Box::pin(lab.service.clusters().update(&lab.caller, id, params)).await
    };
    assert!(lab.install_config(id).await["onClusterLayering"].is_null());
    ask(json!({"mode": "Enabled", "build_timeout_minutes": 30})).await.unwrap();
    assert_eq!(
        lab.install_config(id).await["onClusterLayering"],
        json!({"mode": "Enabled", "buildTimeoutMinutes": 30})
    );
    let state = lab.service.clusters().get_layering(&lab.caller, id).await.unwrap();
    assert!(state.enabled && !state.push_secret_set);
    assert_eq!(state.settings.unwrap().build_timeout_minutes, Some(30));
    let names = lab.event_names(id).await;
    assert_eq!(names.iter().filter(|name| *name == "ocl_enabled").count(), 1);

    // The overrides hold, whatever was asked for before; what contradicts them is refused.
    lab.override_config(id, r#"{"onClusterLayering":{"buildTimeoutMinutes":45,"scratch":"Disk"}}"#)
        .await
        .unwrap();
    assert_eq!(
        lab.install_config(id).await["onClusterLayering"],
        json!({"mode": "Enabled", "buildTimeoutMinutes": 45, "scratch": "Disk"})
    );
    let (kind, why) = refusal(ask(json!({"mode": "Enabled", "scratch": "Memory"})).await);
    assert_eq!(kind, RefusalKind::Invalid);
    assert!(why.contains("otherwise of scratch"), "{why}");
    ask(json!({})).await.unwrap();
    let state = lab.service.clusters().get_layering(&lab.caller, id).await.unwrap();
    assert!(!state.enabled && state.settings.is_none());
    lab.override_config(id, "").await.unwrap();
    assert!(lab.install_config(id).await["onClusterLayering"].is_null());
}

async fn shown_and_overridden(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let host = lab.host(lab.infra_env(Some(id)).await.id).await;
    lab.report_all(host, 1).await;
    let config = lab.install_config(id).await;
    let secret: Value = serde_json::from_str(config["pullSecret"].as_str().unwrap()).unwrap();
    assert_eq!(secret, serde_json::from_str::<Value>(PULL_SECRET).unwrap());
    assert_eq!((&config["metadata"]["name"], &config["platform"]), (&json!("c"), &json!({"none": {}})));
    assert_eq!(config["networking"]["machineNetwork"], json!([{"cidr": "192.168.126.0/24"}]));

    lab.override_config(id, r#"{"fips":true}"#).await.unwrap();
    assert_eq!(lab.install_config(id).await["fips"], true);
    let cluster = lab.get_cluster(id).await;
    assert_eq!(cluster.install_config_overrides, r#"{"fips":true}"#);
    assert!(cluster.feature_usage.contains("Install Config Overrides"));
    let names = lab.event_names(id).await;
    assert_eq!(names.iter().filter(|name| *name == "install_config_applied").count(), 1);

    let huge = format!(r#"{{"sshKey":"{}"#, "x".repeat(1 << 20));
    let many = format!(r#"{{"compute":[{}{{}}]}}"#, r#"{"name":1},"#.repeat(100_000));
    for overrides in
        ["{", "\0", r#"{"publish":"Internal"}"#, r#"{"fips":"yes"}"#, &huge, &many, &"[".repeat(1 << 20)]
    {
        assert_eq!(refusal(lab.override_config(id, overrides).await).0, RefusalKind::Invalid);
    }
    assert_eq!(lab.get_cluster(id).await.install_config_overrides, r#"{"fips":true}"#);
    lab.override_config(id, "").await.unwrap();
    assert_eq!(lab.install_config(id).await["fips"], false);

    let nobody = ClusterId::random();
    assert_eq!(refusal(lab.override_config(nobody, "{}").await).0, RefusalKind::NotFound);
    assert_eq!(
        refusal(lab.service.clusters().get_install_config(&lab.caller, nobody).await),
        (RefusalKind::NotFound, format!("Failed to get cluster {nobody}: record not found"))
    );
    lab.stop().await;
}

async fn of_no_use_on_day_2(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let lab = changed(&database, lab, id, |cluster| cluster.kind = ClusterKind::AddHostsCluster).await;
    let (kind, text) = refusal(lab.service.clusters().get_install_config(&lab.caller, id).await);
    assert!(
        kind == RefusalKind::Invalid && text.starts_with("The install config is not available because"),
        "{text}"
    );
    lab.stop().await;
}
