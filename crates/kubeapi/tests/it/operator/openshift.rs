//! On a real API server with the kinds of OpenShift.

use assisted_lab_kinds as kinds;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::hub::{Running, condition, reconciled};
use super::{NAMESPACE, config, environment};
use crate::hub::{Hub, eventually};

/// The kind by which monitoring finds metrics, in the fields that are written here.
fn service_monitors() -> Value {
    let text = json!({"type": "string"});
    let endpoint = json!({"type": "object", "properties": {
        "port": text, "scheme": {"type": "string", "enum": ["http", "https"]},
        "tlsConfig": {"type": "object", "properties": {"caFile": text, "serverName": text}}}});
    let spec = json!({"type": "object", "required": ["endpoints", "selector"], "properties": {
        "endpoints": {"type": "array", "items": endpoint},
        "namespaceSelector": {"type": "object", "properties": {"matchNames": {"type": "array", "items": text}}},
        "selector": {"type": "object", "properties": {
            "matchLabels": {"type": "object", "additionalProperties": text}}}}});
    let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": spec}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
        "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced",
            "names": {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_and_authorities_are_waited_for() {
    let hub = Hub::launch().await;
    let route = kinds::kinds().unwrap().into_iter().find(|kind| kind.kind == "Route").unwrap();
    hub.apply(&route.definition().unwrap().to_string());
    hub.apply(&service_monitors().to_string());
    for name in [NAMESPACE, "openshift-config-managed"] {
        hub.namespace(name).await;
    }
    let pem = assisted_testkit::Authority::new("ingress").unwrap().pem;
    let map = |namespace: &str, name: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
               "data": {"ca-bundle.crt": pem}})
        .to_string()
    };
    hub.apply(&map("openshift-config-managed", "default-ingress-cert"));
    hub.apply(
        &json!({"apiVersion": "config.openshift.io/v1", "kind": "APIServer", "metadata": {"name": "cluster"},
                "spec": {"tlsSecurityProfile": {"type": "Modern"}}})
        .to_string(),
    );
    let running = Running::start(hub.client.clone(), environment());
    let mut wanted =
        serde_json::to_value(config(&json!({"spec": {"ingress": null, "iPXEHTTPRoute": "enabled"}})))
            .unwrap();
    wanted["metadata"].as_object_mut().unwrap().remove("uid");
    hub.apply(&wanted.to_string());

    // OpenShift's router and operators play their part.
    eventually("a host is waited for", async || {
        condition(&hub.client, "ReconcileCompleted")
            .await
            .is_some_and(|(_, _, text)| text.starts_with("waiting for"))
    })
    .await;
    for name in ["assisted-service", "assisted-image-service"] {
        let host = format!("{name}.apps.example.com");
        hub.get(&[
            "patch",
            "route",
            name,
            "--namespace",
            NAMESPACE,
            "--type=merge",
            "--output=json",
            &format!("--patch={}", json!({"spec": {"host": host}})),
        ]);
    }
    let maps: Api<ConfigMap> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let filled = Patch::Merge(json!({"data": {"ca-bundle.crt": pem}}));
    maps.patch("cluster-trusted-ca-bundle", &PatchParams::default(), &filled).await.unwrap();
    reconciled(&hub.client).await;

    let get =
        |kind: &str, name: &str| hub.get(&["get", kind, name, "--namespace", NAMESPACE, "--output=json"]);
    assert_eq!(get("route", "assisted-service")["spec"]["host"], "assisted-service.apps.example.com");
    assert_eq!(get("route", "assisted-service-ipxe")["spec"]["host"], "assisted-service.apps.example.com");
    assert_eq!(get("configmap", "default-ingress-cert")["data"]["ca-bundle.crt"], pem);
    assert_eq!(get("servicemonitor", "assisted-service")["spec"]["endpoints"][0]["scheme"], "https");
    assert_eq!(
        get("configmap", "assisted-service")["data"]["IMAGE_SERVICE_BASE_URL"],
        "https://assisted-image-service.apps.example.com"
    );
    assert_eq!(
        get("service", "agentinstalladmission")["metadata"]["annotations"]["service.beta.openshift.io/serving-cert-secret-name"],
        "agentinstalladmission"
    );

    // The routes without TLS go when they are not wanted any more.
    let change = json!({"spec": {"iPXEHTTPRoute": "disabled"}}).to_string();
    hub.get(&[
        "patch",
        "agentserviceconfig",
        "agent",
        "--type=merge",
        "--output=json",
        &format!("--patch={change}"),
    ]);
    eventually("they are gone", async || {
        let routes = hub.get(&["get", "routes", "--namespace", NAMESPACE, "--output=json"]);
        routes["items"].as_array().unwrap().len() == 2
    })
    .await;
    running.stop().await;
}
