//! On a real API server with the kinds of OpenShift, under the operator's own rights.

use assisted_crd::cluster_management::managed_cluster::ManagedCluster;
use assisted_kubeapi::operator::access::LOCAL_CLUSTER;
use assisted_kubeapi::rbac::further;
use assisted_lab_kinds as kinds;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::hub::{Running, condition, limited, object, objects, reconciled, touch};
use super::{NAMESPACE, config, environment, text};
use crate::hub::{Hub, eventually};
use crate::pool::{Kinds, lease};

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
    let hub = lease(Kinds::OpenShift).await;
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
    knows_adherence(&hub).await;
    hub.apply(&api_server("LegacyAdheringComponentsOnly", "Modern"));
    let running = Running::start(limited(&hub).await, environment());
    hub.apply(&text(&json!({"spec": {"ingress": null, "iPXEHTTPRoute": "enabled"}})));

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

    let get = async |kind: &str, name: &str| object(&hub, kind, name).await;
    assert_eq!(get("Route", "assisted-service").await["spec"]["host"], "assisted-service.apps.example.com");
    assert_eq!(
        get("Route", "assisted-service-ipxe").await["spec"]["host"],
        "assisted-service.apps.example.com"
    );
    assert_eq!(get("ConfigMap", "default-ingress-cert").await["data"]["ca-bundle.crt"], pem);
    assert_eq!(get("ServiceMonitor", "assisted-service").await["spec"]["endpoints"][0]["scheme"], "https");
    assert_eq!(
        get("ConfigMap", "assisted-service").await["data"]["IMAGE_SERVICE_BASE_URL"],
        "https://assisted-image-service.apps.example.com"
    );
    assert_eq!(
        get("Service", "agentinstalladmission").await["metadata"]["annotations"]["service.beta.openshift.io/serving-cert-secret-name"],
        "agentinstalladmission"
    );

    speaks_as_the_cluster_does(&hub).await;

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
    eventually("they are gone", async || objects(&hub, "Route").await.len() == 2).await;
    running.stop().await;
}

/// Which TLS the cluster speaks, and whether all components are to do so.
fn api_server(adherence: &str, profile: &str) -> String {
    json!({"apiVersion": "config.openshift.io/v1", "kind": "APIServer", "metadata": {"name": "cluster"},
           "spec": {"tlsAdherence": adherence, "tlsSecurityProfile": {"type": profile}}})
    .to_string()
}

/// Whether all components adhere is told by a field that is younger than the definition.
async fn knows_adherence(hub: &Hub) {
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/tlsAdherence";
    let field = json!([{"op": "add", "path": path, "value": {"type": "string"}}]);
    let name = "apiservers.config.openshift.io";
    let patch = format!("--patch={field}");
    hub.get(&["patch", "customresourcedefinition", name, "--type=json", "--output=json", &patch]);
    eventually("the field is known", async || hub.try_apply(&api_server("", "Modern")).is_ok()).await;
}

/// A profile that changes is soon that of service, image service and webhooks, since it is watched.
async fn speaks_as_the_cluster_does(hub: &Hub) {
    let spoken = async || {
        let images = object(hub, "StatefulSet", "assisted-image-service").await;
        let env = images["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
        let of_images = env.iter().find(|one| one["name"] == "TLS_MIN_VERSION");
        let webhooks = object(hub, "Deployment", "agentinstalladmission").await;
        let args = webhooks["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
        let mut args = args.iter().filter_map(Value::as_str);
        let of_webhooks = args.find_map(|arg| arg.strip_prefix("--tls-min-version="));
        [
            object(hub, "ConfigMap", "assisted-service").await["data"]["TLS_MIN_VERSION"].clone(),
            of_images.map(|one| one["value"].clone()).unwrap_or_default(),
            json!(of_webhooks),
        ]
    };
    let hash = async || {
        let deployment = object(hub, "Deployment", "assisted-service").await;
        let metadata = &deployment["spec"]["template"]["metadata"];
        metadata["annotations"]["agent-install.openshift.io/config-hash"].clone()
    };
    assert_eq!(spoken().await, ["VersionTLS12"; 3], "the profile is not for all components");
    let before = hash().await;
    hub.apply(&api_server("StrictAllComponents", "Modern"));
    eventually("nothing older than TLS 1.3 is spoken", async || spoken().await == ["VersionTLS13"; 3]).await;
    eventually("the service starts anew with it", async || hash().await != before).await;
    hub.apply(&api_server("StrictAllComponents", "Intermediate"));
    eventually("TLS 1.2 is spoken again", async || spoken().await == ["VersionTLS12"; 3]).await;
    eventually("the service is as it was", async || hash().await == before).await;
}

/// The kind by which a cluster tells its domain, in the fields that are read here.
fn dnses() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "dnses.config.openshift.io"},
        "spec": {"group": "config.openshift.io", "scope": "Cluster",
            "names": {"kind": "DNS", "plural": "dnses", "singular": "dns"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any}}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hubs_own_cluster_is_taken_in_and_let_go() {
    const ID: &str = "11111111-1111-4111-8111-111111111111";
    let hub = lease(Kinds::OpenShift).await;
    hub.apply(&dnses().to_string());
    for name in [NAMESPACE, "openshift-config", "openshift-kube-apiserver", "local-cluster"] {
        hub.namespace(name).await;
    }
    let secret = |namespace: &str, name: &str, key: &str, value: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
               "stringData": {(key): value}})
        .to_string()
    };
    hub.apply(&secret("openshift-kube-apiserver", "node-kubeconfigs", "lb-ext.kubeconfig", "own kubeconfig"));
    hub.apply(&secret("openshift-config", "pull-secret", ".dockerconfigjson", r#"{"auths":{}}"#));
    hub.apply(
        &json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
                "spec": {"clusterID": ID}})
        .to_string(),
    );
    let status = json!({"status": {"desired": {"image": "quay.io/release:1", "version": "4.20.0"}, "availableUpdates": [],
                                   "observedGeneration": 1, "versionHash": "x"}});
    let patch = format!("--patch={status}");
    hub.get(&[
        "patch",
        "clusterversion",
        "version",
        "--subresource=status",
        "--type=merge",
        "--output=json",
        &patch,
    ]);
    let node = json!({"apiVersion": "v1", "kind": "Node",
                      "metadata": {"name": "a", "labels": {"node-role.kubernetes.io/control-plane": ""}}});
    hub.apply(&node.to_string());
    let dns = json!({"apiVersion": "config.openshift.io/v1", "kind": "DNS", "metadata": {"name": "cluster"},
                     "spec": {"baseDomain": "hub.example.com"}});
    eventually("its domain is known", async || hub.try_apply(&dns.to_string()).is_ok()).await;
    let running = Running::start(limited(&hub).await, environment());
    let mut wanted = serde_json::to_value(config(&json!({}))).unwrap();
    wanted["metadata"].as_object_mut().unwrap().remove("uid");
    hub.apply(&wanted.to_string());
    let says = async |reason: &str| {
        let mut last = None;
        for _ in 0..1200 {
            last = condition(&hub.client, "LocalClusterManaged").await;
            if last.as_ref().is_some_and(|(_, said, _)| said == reason) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("it says {last:?}, and not {reason}");
    };
    says("Local cluster import is not enabled").await;
    wanted["metadata"]["annotations"]["agent-install.openshift.io/enable-local-cluster-import"] = "".into();
    hub.apply(&wanted.to_string());
    says("Local cluster is not managed.").await;

    let managed = |name: &str| {
        json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
               "metadata": {"name": name, "labels": {"local-cluster": "true", "clusterID": ID}},
               "spec": {"hubAcceptsClient": true}})
        .to_string()
    };
    hub.apply(&managed("local-cluster"));
    // Who wants this gives the operator what it needs for it, and is told so.
    eventually("the missing role is told", async || {
        condition(&hub.client, "LocalClusterManaged").await.is_some_and(|(status, _, text)| {
            status == "False" && text.contains("kubectl apply -k deploy/kustomize/local-cluster")
        })
    })
    .await;
    hub.apply(&further(&LOCAL_CLUSTER, NAMESPACE));
    // By itself the operator looks after 20 seconds; what is granted counts a moment after it is written.
    eventually("it is taken in", async || {
        touch(&hub).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        condition(&hub.client, "LocalClusterManaged")
            .await
            .is_some_and(|(_, reason, _)| reason == "Local cluster is managed.")
    })
    .await;
    let get = |kind: &str, name: &str| {
        hub.get(&["get", kind, name, "--namespace", "local-cluster", "--output=json"])
    };
    let deployment = get("clusterdeployments.hive.openshift.io", "local-cluster");
    assert_eq!(
        (&deployment["spec"]["clusterName"], &deployment["spec"]["installed"]),
        (&json!("hub"), &json!(true))
    );
    let install = get("agentclusterinstalls", "local-cluster");
    assert_eq!(install["spec"]["provisionRequirements"]["controlPlaneAgents"], 1);
    assert_eq!(get("infraenvs", "local-cluster")["spec"]["clusterRef"]["name"], "local-cluster");
    assert_eq!(
        get("clusterimagesets", "local-cluster-image-set")["spec"]["releaseImage"],
        "quay.io/release:1"
    );
    assert_eq!(
        get("secret", "local-cluster-admin-kubeconfig")["metadata"]["ownerReferences"][0]["name"],
        "agent"
    );

    hub.apply(&managed("other"));
    says("Unable to determine local cluster managed status.").await;
    let clusters = Api::<ManagedCluster>::all(hub.client.clone());
    for name in ["other", "local-cluster"] {
        clusters.delete(name, &DeleteParams::default()).await.unwrap();
    }
    says("Local cluster is not managed.").await;
    let left = hub.get(&[
        "get",
        "clusterdeployments.hive.openshift.io,agentclusterinstalls,infraenvs,secrets",
        "--namespace",
        "local-cluster",
        "--output=json",
    ]);
    assert_eq!(left["items"], json!([]));
    running.stop().await;
}
