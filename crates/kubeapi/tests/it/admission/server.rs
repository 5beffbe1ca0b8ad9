//! A real API server asks the webhooks, by the configurations that they keep themselves.

use std::sync::Arc;
use std::time::Duration;

use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_kubeapi::admission::configuration::Target;
use assisted_kubeapi::admission::rotator::{CertificateRotator, Configurations};
use assisted_kubeapi::admission::server::serve;
use assisted_kubeapi::admission::tls::{Certified, Protocols, server_config};
use assisted_kubeapi::admission::{self, NAME};
use assisted_kubeapi::rbac::manifest;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::agent_cluster_install::install;
use crate::hub::{Hub, eventually};
use crate::pool::{Kinds, lease};

/// A process that answers, under its own rights.
struct Webhooks {
    stop: CancellationToken,
}

impl Drop for Webhooks {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The account of the webhooks in a namespace.
fn account(hub: &Hub, namespace: &str) -> String {
    hub.apply(&manifest(&admission::access::ROLE, namespace));
    format!("system:serviceaccount:{namespace}:{NAME}")
}

async fn start(
    client: Client,
    namespace: &str,
    configurations: Configurations,
    url: Option<&str>,
) -> (Webhooks, String) {
    let certified = Arc::new(Certified::default());
    let tls = server_config(Arc::clone(&certified), &Protocols::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url.map_or_else(|| format!("https://{}", listener.local_addr().unwrap()), str::to_owned);
    let rotator = CertificateRotator::new(
        client.clone(),
        namespace,
        Target::Url(url.clone()),
        configurations,
        certified,
    );
    rotator.reconcile().await.unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(serve(listener, tls, Arc::new(client), stop.clone()));
    tokio::spawn(rotator.run(stop.clone()));
    (Webhooks { stop }, url)
}

fn named(mut object: serde_json::Value, kind: &str, namespace: &str, name: &str) -> serde_json::Value {
    object["apiVersion"] = if kind == "AgentClusterInstall" {
        "extensions.hive.openshift.io/v1beta1".into()
    } else {
        "agent-install.openshift.io/v1beta1".into()
    };
    object["kind"] = kind.into();
    object["metadata"]["namespace"] = namespace.into();
    object["metadata"]["name"] = name.into();
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_refuses_what_the_webhooks_deny() {
    let hub = lease(Kinds::Controllers).await;
    let namespace = "webhooks";
    hub.namespace(namespace).await;
    let client = hub.client_of(&account(&hub, namespace)).await;
    let (_webhooks, _) = start(client, namespace, Configurations::Own, None).await;

    // The rule on creation, with the text.
    let infra_env = |spec| {
        let object = json!({"spec": spec, "metadata": {}});
        serde_json::from_value::<InfraEnv>(named(object, "InfraEnv", namespace, "example")).unwrap()
    };
    let api: Api<InfraEnv> = Api::namespaced(hub.client.clone(), namespace);
    let wrong = infra_env(json!({"pullSecretRef": {"name": "pull"}, "osImageVersion": "4.20",
                                 "clusterRef": {"name": "a", "namespace": namespace}}));
    let error = api.create(&PostParams::default(), &wrong).await.unwrap_err();
    let kube::Error::Api(status) = &error else { panic!("{error}") };
    assert_eq!((status.code, status.reason.as_str()), (400, "BadRequest"));
    assert_eq!(
        status.message,
        "admission webhook \"infraenvvalidators.admission.agentinstall.openshift.io\" denied the request: \
         Either Spec.ClusterRef or Spec.OSImageVersion should be specified (not both)."
    );

    // A version joins when the cluster is installed, which is looked up under the account's own rights.
    let good = infra_env(json!({"pullSecretRef": {"name": "pull"},
                                "clusterRef": {"name": "cluster", "namespace": namespace}}));
    api.create(&PostParams::default(), &good).await.unwrap();
    let change = Patch::Merge(json!({"spec": {"osImageVersion": "4.20"}}));
    let error = api.patch("example", &PatchParams::default(), &change).await.unwrap_err().to_string();
    assert!(error.contains("spec.OSImageVersion is not valid."), "{error}");
    hub.apply(&format!(
        "apiVersion: hive.openshift.io/v1\nkind: ClusterDeployment\nmetadata: {{name: cluster, namespace: {namespace}}}\n\
         spec: {{baseDomain: example.com, clusterName: cluster, installed: true, platform: {{}},\n\
         clusterMetadata: {{clusterID: a, infraID: b, adminKubeconfigSecretRef: {{name: c}}}}}}\n"
    ));
    api.patch("example", &PatchParams::default(), &change).await.unwrap();

    // The mutating webhook fills in, the validating one judges what came out.
    let create = |name: &str, spec| {
        let object = named(install(&spec), "AgentClusterInstall", namespace, name);
        hub.try_apply(&object.to_string())
    };
    create("filled", json!({"platformType": "None"})).unwrap();
    let filled = hub.get(&["get", "aci", "filled", "--namespace", namespace, "--output=json"]);
    assert_eq!(filled["spec"]["networking"]["userManagedNetworking"], true);
    let refused = create(
        "refused",
        json!({"platformType": "BareMetal", "provisionRequirements": {"controlPlaneAgents": 1}}),
    );
    assert!(refused.unwrap_err().contains("Can't set baremetal platform on single node OpenShift"));
    let refused = create(
        "refused",
        json!({"networking": {"userManagedNetworking": false}, "provisionRequirements": {"controlPlaneAgents": 1}}),
    );
    assert!(refused.unwrap_err().contains("UserManagedNetworking must be set to true with SNO"));
    let refused = hub.try_apply(
        &named(
            json!({"metadata": {}, "spec": {"labelKey": "a", "labelValue": "b", "query": "("}}),
            "AgentClassification",
            namespace,
            "bad",
        )
        .to_string(),
    );
    assert!(refused.unwrap_err().contains("the query can't be read as jq"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_keeps_is_mended_and_nothing_else_is_touched() {
    let hub = lease(Kinds::Controllers).await;
    let namespace = "kept";
    hub.namespace(namespace).await;
    let client = hub.client_of(&account(&hub, namespace)).await;
    let (_first, url) = start(client.clone(), namespace, Configurations::Own, None).await;
    let api: Api<ValidatingWebhookConfiguration> = Api::all(hub.client.clone());
    let name = "infraenvvalidators.admission.agentinstall.openshift.io";
    let kept = api.get(name).await.unwrap();
    let webhook = &kept.webhooks.as_ref().unwrap()[0];
    assert_eq!(webhook.failure_policy.as_deref(), Some("Fail"));
    assert_eq!(webhook.side_effects, "None");
    assert_eq!(webhook.timeout_seconds, Some(10));
    let bundle = webhook.client_config.ca_bundle.clone().unwrap();

    // Deleted, or changed by somebody: it comes back.
    api.delete(name, &DeleteParams::default()).await.unwrap();
    eventually("it is made anew", async || api.get_opt(name).await.unwrap().is_some()).await;
    let change = json!({"webhooks": [{"name": name, "clientConfig": {"caBundle": null, "url": url}, "failurePolicy": "Ignore",
        "admissionReviewVersions": ["v1"], "sideEffects": "None"}]});
    api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    eventually("it is mended", async || {
        let found = api.get(name).await.unwrap().webhooks.unwrap().remove(0);
        found.failure_policy.as_deref() == Some("Fail")
            && found.client_config.ca_bundle == Some(bundle.clone())
    })
    .await;

    // Another replica shares the certificate; where it writes nothing that differs, versions stay.
    let secrets: Api<Secret> = Api::namespaced(hub.client.clone(), namespace);
    let versions = async || {
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(hub.client.clone());
        let secret = secrets.get(NAME).await.unwrap().metadata.resource_version;
        let configurations = api.list(&ListParams::default()).await.unwrap().items;
        let configurations: Vec<_> =
            configurations.into_iter().map(|found| found.metadata.resource_version).collect();
        let mutating = mutating.list(&ListParams::default()).await.unwrap().items;
        let mutating: Vec<_> = mutating.into_iter().map(|found| found.metadata.resource_version).collect();
        (secret, configurations, mutating)
    };
    let before = versions().await;
    let (_second, _) = start(client.clone(), namespace, Configurations::Own, Some(&url)).await;
    assert_eq!(versions().await, before);

    // A secret that somebody emptied is filled again, and the configurations follow.
    secrets
        .patch(NAME, &PatchParams::default(), &Patch::Merge(json!({"data": {"ca.crt": null}})))
        .await
        .unwrap();
    eventually("a new authority is trusted", async || {
        let found = api.get(name).await.unwrap().webhooks.unwrap().remove(0).client_config.ca_bundle;
        found.is_some_and(|found| found != bundle)
    })
    .await;

    // The rights are those that are used, and no more.
    let others: Api<Secret> = Api::namespaced(client.clone(), "default");
    let error = others.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");
    let error = Api::<ValidatingWebhookConfiguration>::all(client)
        .delete(name, &DeleteParams::default())
        .await
        .unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_configurations_of_others_it_fills_in_the_bundle_alone() {
    let hub = lease(Kinds::Controllers).await;
    let namespace = "filled";
    hub.namespace(namespace).await;
    let client = hub.client_of(&account(&hub, namespace)).await;
    let (_webhooks, _) =
        start(client, namespace, Configurations::Bundle, Some("https://webhooks.example.com")).await;
    let api: Api<ValidatingWebhookConfiguration> = Api::all(hub.client.clone());
    // It makes none by itself: whoever deletes them must not find them again.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    let name = "agentvalidators.admission.agentinstall.openshift.io";
    hub.apply(&format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n\
         metadata: {{name: {name}, labels: {{app: {NAME}}}}}\n\
         webhooks: [{{name: {name}, clientConfig: {{url: 'https://other.example.com/path'}}, admissionReviewVersions: [v1],\n\
         sideEffects: None, timeoutSeconds: 3}}]\n"
    ));
    eventually("the bundle is filled in", async || {
        let found = api.get(name).await.unwrap().webhooks.unwrap().remove(0);
        found.client_config.ca_bundle.is_some()
    })
    .await;
    let found = api.get(name).await.unwrap().webhooks.unwrap().remove(0);
    assert_eq!(found.client_config.url.as_deref(), Some("https://other.example.com/path"));
    assert_eq!(found.timeout_seconds, Some(3));
}
