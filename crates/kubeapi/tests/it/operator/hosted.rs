//! HypershiftAgentServiceConfigs on a real API server; a second one is that of the cluster whose control plane is hosted.

use std::sync::Arc;
use std::time::Duration;

use assisted_crd::agent_install::hypershift_agent_service_config::HypershiftAgentServiceConfig;
use assisted_crd::labels::finalizer;
use assisted_kubeapi::admission::configuration::Target;
use assisted_kubeapi::admission::rotator::{CertificateRotator, Configurations};
use assisted_kubeapi::admission::tls::Certified;
use assisted_kubeapi::operator::access::{HOSTED, ROLE};
use assisted_kubeapi::rbac::{further, manifest};
use assisted_testkit::kube::Kube;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::hub::{Running, run_pods};
use super::{NAMESPACE, config, environment};
use crate::hub::{Hub, define, eventually};

/// What is in the way is looked at every half minute.
const PATIENCE: Duration = Duration::from_secs(120);
/// Where the hosted control plane is.
const PLACE: &str = "clusters-demo";

fn object(namespace: &str, name: &str) -> String {
    let mut object = serde_json::to_value(config(&json!({}))).unwrap();
    object["kind"] = "HypershiftAgentServiceConfig".into();
    object["metadata"] = json!({"name": name, "namespace": namespace});
    object["spec"]["kubeconfigSecretRef"] = json!({"name": "hosted"});
    object.to_string()
}

async fn condition(hub: &Hub, namespace: &str, name: &str, kind: &str) -> Option<(String, String)> {
    let api: Api<HypershiftAgentServiceConfig> = Api::namespaced(hub.client.clone(), namespace);
    let status = api.get_opt(name).await.unwrap()?.status?;
    let found = status.conditions.into_iter().find(|condition| condition.r#type == kind)?;
    Some((found.reason, found.message))
}

async fn says(hub: &Hub, namespace: &str, name: &str, reason: &str, text: &str) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let told = condition(hub, namespace, name, "ReconcileCompleted").await;
        if told.as_ref().is_some_and(|(said, message)| said == reason && message.contains(text)) {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{name} says {told:?}, and not {reason}: {text}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn kubeconfig_secret(data: &Value) -> String {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hosted", "namespace": PLACE}, "stringData": data})
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosted_cluster_gets_a_service_of_its_own() {
    let kube = tokio::task::spawn_blocking(|| Kube::launch(&["garbage-collector-controller"]).unwrap());
    let hub = Hub::of(kube.await.unwrap()).await;
    define(&hub.client, |group| group == "agent-install.openshift.io").await;
    let kube = tokio::task::spawn_blocking(|| Kube::launch(&[]).unwrap()).await.unwrap();
    let mut hosted = Hub::of(kube).await;
    for name in [NAMESPACE, PLACE, "elsewhere"] {
        hub.namespace(name).await;
    }
    hub.apply(&manifest(&ROLE, NAMESPACE));
    let limited = hub.client_of(&format!("system:serviceaccount:{NAMESPACE}:{}", ROLE.account)).await;
    let running = Running::start(limited, environment());

    // Without a role in the namespace nothing can be done, and the object says what to do.
    hub.apply(&object("elsewhere", "demo"));
    let text = "kubectl apply --namespace elsewhere -f deploy/kustomize/hosted/assisted-operator.yaml";
    says(&hub, "elsewhere", "demo", "ReasonRBACConfigurationFailure", text).await;
    hub.apply(&object(NAMESPACE, "demo"));
    says(&hub, NAMESPACE, "demo", "ConfigFailure", "namespace of the operator").await;

    let role =
        further(&HOSTED, NAMESPACE).replace("metadata:\n", &format!("metadata:\n  namespace: {PLACE}\n"));
    hub.apply(&role);
    kubeconfig_is_looked_for(&hub).await;
    rights_in_the_hosted_cluster_are_missed(&hub, &hosted).await;
    let kubeconfig = std::fs::read_to_string(hosted.kube.kubeconfig()).unwrap();
    hub.apply(&kubeconfig_secret(&json!({"kubeconfig": kubeconfig})));
    says(&hub, PLACE, "demo", "ReconcileSucceeded", "without error").await;
    run_pods(&hub.client, PLACE).await;
    eventually("it runs", async || {
        let told = condition(&hub, PLACE, "demo", "DeploymentsHealthy").await;
        told.is_some_and(|(reason, _)| reason == "DeploymentSucceeded")
    })
    .await;
    pods_go_to_the_hosted_cluster(&hub, hosted.kube.address().port());
    webhooks_make_what_they_need(&hosted, &hub).await;

    // What somebody deletes here or there comes back.
    let services: Api<Service> = Api::namespaced(hub.client.clone(), PLACE);
    services.delete("assisted-service", &DeleteParams::default()).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(hosted.client.clone());
    let agents = "agents.agent-install.openshift.io";
    definitions.delete(agents, &DeleteParams::default()).await.unwrap();
    eventually("both are made anew", async || {
        services.get_opt("assisted-service").await.unwrap().is_some()
            && definitions
                .get_opt(agents)
                .await
                .unwrap()
                .is_some_and(|found| found.metadata.deletion_timestamp.is_none())
    })
    .await;

    // A second one would have the same objects.
    hub.apply(&object(PLACE, "other"));
    says(&hub, PLACE, "other", "ConfigFailure", "and demo is there").await;

    // The cluster goes away, and comes back.
    tokio::task::block_in_place(|| hosted.kube.stop_api());
    let api: Api<HypershiftAgentServiceConfig> = Api::namespaced(hub.client.clone(), PLACE);
    let touched = json!({"metadata": {"annotations": {"example.com/look": "1"}}});
    api.patch("demo", &PatchParams::default(), &Patch::Merge(touched)).await.unwrap();
    says(
        &hub,
        PLACE,
        "demo",
        "SpokeClusterCRDsSyncFailure",
        "Failed to sync agent-install CRDs on spoke cluster",
    )
    .await;

    // Nothing waits for a cluster that is away, nor for an operator that is dead; the objects go by their owner.
    let kept = json!({"metadata": {"finalizers": [finalizer::AGENT_SERVICE_CONFIG]}});
    api.patch("demo", &PatchParams::default(), &Patch::Merge(kept)).await.unwrap();
    let owner = api.get("demo").await.unwrap().uid().unwrap();
    let deployments: Api<Deployment> = Api::namespaced(hub.client.clone(), PLACE);
    for deployment in deployments.list(&ListParams::default()).await.unwrap() {
        assert_eq!(deployment.owner_references()[0].uid, owner);
        assert_eq!(deployment.owner_references()[0].kind, "HypershiftAgentServiceConfig");
    }
    api.delete("demo", &DeleteParams::default()).await.unwrap();
    eventually("it goes", async || api.get_opt("demo").await.unwrap().is_none()).await;
    // The next one takes its place, as soon as the cluster is back.
    tokio::task::block_in_place(|| hosted.kube.start_api().unwrap());
    let touched = json!({"metadata": {"annotations": {"example.com/look": "1"}}});
    api.patch("other", &PatchParams::default(), &Patch::Merge(touched)).await.unwrap();
    says(&hub, PLACE, "other", "ReconcileSucceeded", "without error").await;
    running.stop().await;
}

/// A kubeconfig that is missing, empty, or none.
async fn kubeconfig_is_looked_for(hub: &Hub) {
    hub.apply(&object(PLACE, "demo"));
    let reason = "ReasonKubeconfigSecretFetchFailure";
    let text =
        "Failed to get 'hosted' secret in 'clusters-demo' namespace (check `kubeconfigSecretRef` property)";
    says(hub, PLACE, "demo", reason, text).await;
    hub.apply(&kubeconfig_secret(&json!({"other": "1"})));
    says(hub, PLACE, "demo", reason, "Secret 'hosted' does not contain 'kubeconfig' key value").await;
    let reason = "ReasonSpokeClientCreationFailure";
    hub.apply(&kubeconfig_secret(&json!({"kubeconfig": "nothing"})));
    says(hub, PLACE, "demo", reason, "Failed to create kubeconfig client").await;
    // It could start a program as the operator.
    let program = "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], \
                   users: [{name: u, user: {exec: {command: reboot, apiVersion: client.authentication.k8s.io/v1}}}], \
                   clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]}";
    hub.apply(&kubeconfig_secret(&json!({"kubeconfig": program})));
    says(hub, PLACE, "demo", reason, "exec").await;
}

/// The hosted cluster takes definitions, and no namespace.
async fn rights_in_the_hosted_cluster_are_missed(hub: &Hub, hosted: &Hub) {
    let named = |kind: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "halfway"}});
    let (mut role, mut binding) = (named("ClusterRole"), named("ClusterRoleBinding"));
    role["rules"] = json!([{"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
                            "verbs": ["create", "get", "patch"]}]);
    binding["roleRef"] =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "halfway"});
    binding["subjects"] =
        json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "halfway"}]);
    hosted.apply(&role.to_string());
    hosted.apply(&binding.to_string());
    let kubeconfig = hosted.kube.kubeconfig_of("halfway", &["system:authenticated"]);
    hub.apply(&kubeconfig_secret(&json!({"kubeconfig": kubeconfig})));
    let text = "Failed to create the namespace on spoke cluster";
    says(hub, PLACE, "demo", "NamespaceCreationFailure", text).await;
}

/// Service and webhooks have the kubeconfig, and no rights on the hub.
fn pods_go_to_the_hosted_cluster(hub: &Hub, port: u16) {
    let get = |kind: &str, name: &str| hub.get(&["get", kind, name, "--namespace", PLACE, "--output=json"]);
    for name in ["assisted-service", "agentinstalladmission"] {
        let pod = get("deployment", name)["spec"]["template"]["spec"].clone();
        let container = &pod["containers"][0];
        let variable = json!({"name": "KUBECONFIG", "value": "/etc/kube/kubeconfig"});
        assert!(container["env"].as_array().unwrap().contains(&variable), "{container}");
        let mounts = container["volumeMounts"].as_array().unwrap();
        assert!(mounts.iter().any(|mount| mount["mountPath"] == "/etc/kube"), "{container}");
        let volumes = pod["volumes"].as_array().unwrap();
        assert!(volumes.iter().any(|volume| volume["secret"]["secretName"] == "hosted"), "{pod}");
        let account = get("serviceaccount", pod["serviceAccountName"].as_str().unwrap());
        assert_eq!(account["automountServiceAccountToken"], false);
        let policy = get("networkpolicy", name)["spec"]["egress"].to_string();
        assert!(policy.contains(&format!("\"port\":{port}")), "{policy}");
    }
    let settings = get("configmap", "assisted-service");
    assert_eq!(settings["data"]["NAMESPACE"], PLACE);
    let configurations = hub.get(&["get", "validatingwebhookconfigurations", "--output=json"]);
    assert_eq!(configurations["items"], json!([]), "the hub asks nobody");
}

/// What the pods of the webhooks do, by the address that they are given.
async fn webhooks_make_what_they_need(hosted: &Hub, hub: &Hub) {
    let webhook =
        hub.get(&["get", "deployment", "agentinstalladmission", "--namespace", PLACE, "--output=json"]);
    let args = webhook["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap().clone();
    let url = args.iter().find_map(|arg| arg.as_str()?.strip_prefix("--webhook-url=")).unwrap().to_owned();
    assert_eq!(url, format!("https://agentinstalladmission.{PLACE}.svc"));
    let target = Target::Url(url.clone());
    let rotator = CertificateRotator::new(
        hosted.client.clone(),
        PLACE,
        target,
        Configurations::Own,
        Arc::new(Certified::default()),
    );
    rotator.reconcile().await.unwrap();
    Api::<Namespace>::all(hosted.client.clone()).get(PLACE).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(hosted.client.clone(), PLACE);
    assert!(secrets.get_opt("agentinstalladmission").await.unwrap().is_some());
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(hosted.client.clone());
    let made = configurations.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(made.len(), 4);
    let asked = made[0].webhooks.as_ref().unwrap()[0].client_config.clone();
    assert!(asked.url.unwrap().starts_with(&url) && asked.ca_bundle.is_some() && asked.service.is_none());
}
