//! Requests and reports of an installation over HTTP: what each refusal looks like, and what stands beside the contract.

use assisted_config::{Generator, Settings};
use assisted_wire::operator::SupportedOperator;
use reqwest::Method;
use serde_json::{Value, json};

use crate::life::{HOST, register};
use crate::server::Server;

const NOBODY: &str = "99999999-2222-3333-4444-555555555555";

fn simulating() -> Settings {
    let mut settings = Settings::default();
    settings.generation.generator = Generator::Simulation;
    settings
}

#[tokio::test]
async fn refusals() {
    let server = Server::start(simulating()).await;
    let (cluster, infra_env) = register(&server).await;
    let (cluster, infra_env) = (cluster["id"].as_str().unwrap(), infra_env["id"].as_str().unwrap());
    let hosts = format!("/v2/infra-envs/{infra_env}/hosts");
    server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await;
    let own = format!("/v2/clusters/{cluster}");
    let host = format!("{hosts}/{HOST}");
    let strange = format!("/v2/clusters/{NOBODY}");
    let stage = Some(json!({"finalizing_stage": "Done"}));
    let progress = |stage: &str| Some(json!({"current_stage": stage}));
    for (method, path, body, expected, reason) in [
        (Method::POST, format!("{strange}/actions/install"), None, 404, "record not found"),
        (Method::POST, format!("{strange}/actions/cancel"), None, 404, "record not found"),
        (Method::POST, format!("{strange}/actions/reset"), None, 404, "record not found"),
        (Method::POST, format!("{strange}/actions/allow-add-hosts"), None, 404, "record not found"),
        (Method::POST, format!("{strange}/actions/allow-add-workers"), None, 404, "record not found"),
        (Method::PUT, format!("{strange}/progress"), stage.clone(), 404, "record not found"),
        (Method::GET, format!("{strange}/actions"), None, 404, "record not found"),
        (
            Method::POST,
            format!("{own}/actions/install"),
            None,
            409,
            "Cluster is not ready for installation, ",
        ),
        (Method::POST, format!("{own}/actions/cancel"), None, 409, ""),
        (Method::POST, format!("{own}/actions/reset"), None, 409, ""),
        (
            Method::POST,
            format!("{own}/actions/allow-add-hosts"),
            None,
            400,
            &format!("cannot transform cluster {cluster} to day2. Expected cluster status: installed"),
        ),
        (Method::PUT, format!("{own}/progress"), stage, 400, "cluster is "),
        (
            Method::PUT,
            format!("{own}/monitored-operators"),
            Some(json!({"name": ""})),
            400,
            "empty operator name is not allowed",
        ),
        (Method::PUT, format!("{own}/monitored-operators"), Some(json!({"name": "x"})), 404, ""),
        (Method::GET, format!("{own}/monitored-operators?operator_name=x"), None, 404, ""),
        (
            Method::PUT,
            format!("{host}/progress"),
            progress("Rebooting"),
            409,
            "Can't set progress <Rebooting> to host in status <discovering>",
        ),
        (
            Method::POST,
            format!("{host}/actions/install"),
            None,
            409,
            "method only allowed when adding hosts to an existing cluster",
        ),
        (
            Method::POST,
            format!("{host}/actions/reset"),
            None,
            409,
            "method only allowed when adding hosts to an existing cluster",
        ),
        (Method::POST, format!("{host}/actions/enable"), None, 409, ""),
        (Method::POST, format!("{hosts}/{NOBODY}/actions/install"), None, 404, ""),
        (Method::POST, format!("{hosts}/{NOBODY}/actions/enable"), None, 404, ""),
        (Method::DELETE, format!("{hosts}/{NOBODY}/actions/enable"), None, 404, ""),
        (Method::PUT, format!("{hosts}/{NOBODY}/progress"), progress("Done"), 404, ""),
    ] {
        let (status, refused) = server.call(method.clone(), &path, body).await;
        assert_eq!(status, expected, "{method} {path} {refused}");
        let told = refused["reason"].as_str().unwrap();
        assert!(!told.is_empty() && told.starts_with(reason), "{method} {path} {told}");
    }
    for (path, body) in [
        (format!("{own}/progress"), json!({"finalizing_stage": "Nonsense"})),
        (format!("{host}/progress"), json!({"current_stage": "Nonsense"})),
        (format!("{host}/progress"), json!({})),
        (format!("{own}/monitored-operators"), json!({"name": "x", "status": "nonsense"})),
    ] {
        let (status, refused) = server.call(Method::PUT, &path, Some(body)).await;
        assert!(matches!(status, 400 | 422), "{path} {refused}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_host_is_disabled_and_enabled() {
    let server = Server::start(simulating()).await;
    let (cluster, infra_env) = register(&server).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await;
    let enable = format!("{hosts}/{HOST}/actions/enable");
    let (status, host) = server.call(Method::DELETE, &enable, None).await;
    assert_eq!((status, &host["status"]), (200, &json!("disabled")), "{host}");
    let (_, steps) = server.call(Method::GET, &format!("{hosts}/{HOST}/instructions"), None).await;
    assert_eq!(steps["instructions"], json!([]), "{steps}");
    let (status, host) = server.call(Method::POST, &enable, None).await;
    assert_eq!((status, &host["status"]), (200, &json!("discovering")), "{host}");
    let actions = format!("/v2/clusters/{}/actions", cluster["id"].as_str().unwrap());
    assert_eq!(server.call(Method::GET, &actions, None).await, (200, json!([])));
    let report = Some(json!({"is_success": true}));
    let (status, shown) =
        server.call(Method::POST, &format!("{actions}/complete-installation"), report).await;
    assert_eq!((status, &shown["id"]), (202, &cluster["id"]));
    server.stop().await;
}

#[tokio::test]
async fn operators_and_bundles() {
    let server = Server::start(Settings::default()).await;
    let get = async |path: &str| server.call(Method::GET, path, None).await;
    let (status, names) = get("/v2/supported-operators").await;
    assert_eq!((status, names.as_array().unwrap().len()), (200, SupportedOperator::ALL.len()));
    // Each is a value that the document knows.
    for name in names.as_array().unwrap() {
        assert!(serde_json::from_value::<SupportedOperator>(name.clone()).is_ok(), "{name}");
    }
    assert_eq!(get("/v2/supported-operators/lvm").await, (200, json!([])));
    assert_eq!(get("/v2/supported-operators/nonsense").await, (404, Value::Null));
    let (status, bundles) = get("/v2/operators/bundles").await;
    assert_eq!((status, bundles.as_array().unwrap().len()), (200, 2));
    let (_, single) = get("/v2/operators/bundles/openshift-ai?feature_ids=SNO").await;
    assert_eq!(single["operators"], json!(["lvm", "openshift-ai"]));
    // A bundle whose operators don't go with what is asked for is none.
    let (_, single) = get("/v2/operators/bundles?openshift_version=4.20&feature_ids=SNO").await;
    let ids: Vec<_> = single.as_array().unwrap().iter().map(|bundle| &bundle["id"]).collect();
    assert_eq!(ids, ["openshift-ai"]);
    assert_eq!(get("/v2/operators/bundles/nonsense").await.0, 404);
    let (status, refused) = get("/v2/operators/bundles?openshift_version=nonsense").await;
    assert_eq!((status, &refused["reason"]), (400, &json!("invalid openshift version: nonsense")));
    server.stop().await;
}
