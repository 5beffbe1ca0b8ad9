//! On a real API server that is no OpenShift, under the operator's own rights, from `deploy/kustomize`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_crd::labels::finalizer;
use assisted_kubeapi::operator::access::ROLE;
use assisted_kubeapi::operator::apply::KINDS;
use assisted_kubeapi::operator::environment::Environment;
use assisted_kubeapi::operator::watch::work;
use assisted_kubeapi::rbac::manifest;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{NAMESPACE, environment, text};
use crate::hub::{Hub, eventually};
use crate::pool::{Kinds, lease};

/// An operator at work.
pub struct Running {
    stop: CancellationToken,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Running {
    pub fn start(client: Client, environment: Environment) -> Self {
        let _ = tracing_subscriber::fmt().with_test_writer().try_init();
        let stop = CancellationToken::new();
        let own = stop.clone();
        let task = tokio::spawn(async move { work(client, environment, own).await.unwrap() });
        Self { stop, task: Some(task) }
    }

    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            task.await.unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub fn folder(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kustomize").join(path)
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text
}

/// Applies the set, as the docs say.
pub fn install(kube: &Kube) -> String {
    run(kube.kubectl().args(["apply", "--server-side", "--kustomize"]).arg(folder("")))
}

/// A hub that is no OpenShift, with what the operator needs to be there.
pub async fn plain() -> Hub {
    let hub = lease(Kinds::Operator).await;
    hub.namespace(NAMESPACE).await;
    hub
}

/// The operator's rights, as they are declared, and a client that has them.
pub async fn limited(hub: &Hub) -> Client {
    hub.apply(&manifest(&ROLE, NAMESPACE));
    hub.client_of(&format!("system:serviceaccount:{NAMESPACE}:{}", ROLE.account)).await
}

/// An object of a kind that the operator makes.
pub async fn object(hub: &Hub, kind: &str, name: &str) -> Value {
    serde_json::to_value(made(hub, kind).get(name).await.unwrap()).unwrap()
}

/// All of a kind that the operator makes.
pub async fn objects(hub: &Hub, kind: &str) -> Vec<Value> {
    let list = made(hub, kind).list(&ListParams::default()).await.unwrap();
    list.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
}

fn made(hub: &Hub, kind: &str) -> Api<DynamicObject> {
    let kind = KINDS.iter().find(|one| one.kind == kind).unwrap();
    kind.api(&hub.client, NAMESPACE)
}

/// Has the operator look again.
pub async fn touch(hub: &Hub) {
    let api: Api<AgentServiceConfig> = Api::all(hub.client.clone());
    let touched =
        json!({"metadata": {"annotations": {"example.com/look": jiff::Timestamp::now().to_string()}}});
    api.patch("agent", &PatchParams::default(), &Patch::Merge(touched)).await.unwrap();
}

/// Waits until the operator says that everything is applied.
pub async fn reconciled(client: &Client) {
    let mut told = None;
    let waited = tokio::time::timeout(std::time::Duration::from_secs(45), async {
        loop {
            told = condition(client, "ReconcileCompleted").await;
            if told.as_ref().is_some_and(|(_, reason, _)| reason == "ReconcileSucceeded") {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    assert!(waited.await.is_ok(), "{told:?}");
}

/// Status, reason and message of a condition.
pub async fn condition(client: &Client, r#type: &str) -> Option<(String, String, String)> {
    let api: Api<AgentServiceConfig> = Api::all(client.clone());
    let status = api.get_opt("agent").await.unwrap()?.status?;
    let found = status.conditions.into_iter().find(|condition| condition.r#type == r#type)?;
    Some((found.status, found.reason, found.message))
}

pub async fn reason(client: &Client, r#type: &str) -> String {
    condition(client, r#type).await.map(|(_, reason, _)| reason).unwrap_or_default()
}

/// What a kubelet and its controllers would tell.
pub async fn run_pods(client: &Client, namespace: &str) {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    for name in ["assisted-service", "agentinstalladmission"] {
        let deployment = deployments.get(name).await.unwrap();
        let replicas = deployment.spec.unwrap().replicas;
        let status = json!({"status": {
            "observedGeneration": deployment.metadata.generation, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [{"type": "Available", "status": "True"}]}});
        deployments.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    }
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), namespace);
    let generation = sets.get("assisted-image-service").await.unwrap().metadata.generation;
    let status = json!({"status": {"observedGeneration": generation, "replicas": 1, "readyReplicas": 1, "currentReplicas": 1,
                                   "updatedReplicas": 1}});
    sets.patch_status("assisted-image-service", &PatchParams::default(), &Patch::Merge(&status))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_is_told_what_brings_it() {
    let hub = plain().await;
    let client = limited(&hub).await;
    hub.apply(&text(&json!({})));
    let running = Running::start(client.clone(), environment());
    let told = async |kind: &str, version: &str| {
        let maps: Api<ConfigMap> = Api::namespaced(hub.client.clone(), NAMESPACE);
        eventually(&format!("it is of {kind} {version}"), async || {
            let data = maps.get_opt("assisted-service").await.unwrap().and_then(|map| map.data);
            data.is_some_and(|data| data["DEPLOYMENT_TYPE"] == kind && data["DEPLOYMENT_VERSION"] == version)
        })
        .await;
    };
    told("Operator", "registry.example.com/assisted:1").await;
    let deployment = |namespace: &str, name: &str, container: &str, env: &Value| {
        let containers = json!([{"name": "other", "image": "other", "env": [{"name": "OPERATOR_VERSION", "value": "1"}]},
                                {"name": container, "image": "operator", "env": env}]);
        let labels = json!({"app": name});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
               "spec": {"selector": {"matchLabels": labels},
                        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}}}})
        .to_string()
    };
    hub.namespace("multicluster-engine").await;
    let engine = "multicluster-engine-operator";
    hub.apply(&deployment("multicluster-engine", engine, "backplane-operator", &json!([])));
    touch(&hub).await;
    told("MCE", "Unknown").await;
    hub.namespace("open-cluster-management").await;
    let version = json!([{"name": "OPERATOR_VERSION", "value": "2.15.0"}]);
    let operator = "multiclusterhub-operator";
    hub.apply(&deployment("open-cluster-management", operator, operator, &version));
    touch(&hub).await;
    told("ACM", "2.15.0").await;
    // It may read these two, and no others.
    let deployments: Api<Deployment> = Api::namespaced(client, "open-cluster-management");
    for error in [
        deployments.get("another").await.unwrap_err(),
        deployments.list(&ListParams::default()).await.unwrap_err(),
        deployments.delete(operator, &DeleteParams::default()).await.unwrap_err(),
    ] {
        assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_nothing_to_running_and_away_again() {
    let kube = tokio::task::spawn_blocking(|| Kube::launch(&["garbage-collector-controller"]).unwrap())
        .await
        .unwrap();
    let first = install(&kube);
    assert!(first.contains("deployment.apps/assisted-operator serverside-applied"), "{first}");
    // Again it is the same.
    install(&kube);
    let hub = Hub::of(kube).await;
    let client = hub.client_of(&format!("system:serviceaccount:{NAMESPACE}:assisted-operator")).await;
    let running = Running::start(client.clone(), environment());
    run(hub.kube.kubectl().args(["apply", "--filename"]).arg(folder("examples/one-node.yaml")));

    reconciled(&hub.client).await;
    assert_eq!(reason(&hub.client, "ReconcileCompleted").await, "ReconcileSucceeded");
    let told = condition(&hub.client, "ReconcileCompleted").await.unwrap();
    assert_eq!(told.2, "AgentServiceConfig reconcile completed without error.");
    let told = condition(&hub.client, "DataPersistent").await.unwrap();
    assert_eq!((told.0.as_str(), told.1.as_str()), ("False", "EphemeralStorage"));
    let told = condition(&hub.client, "DeploymentsHealthy").await.unwrap();
    assert_eq!(
        (told.1.as_str(), told.2.as_str()),
        ("DeploymentFailure", "Deployment agentinstalladmission is not available")
    );
    run_pods(&hub.client, NAMESPACE).await;
    eventually("it runs", async || reason(&hub.client, "DeploymentsHealthy").await == "DeploymentSucceeded")
        .await;

    mends_drift(&hub).await;
    follows_changes(&hub).await;
    keeps_quiet(&hub).await;
    keeps_others_out(&hub, &client).await;

    // A dead operator's finalizers hold nothing up; what was made goes by its owner.
    let api: Api<AgentServiceConfig> = Api::all(hub.client.clone());
    let finalizers = json!({"metadata": {"finalizers": [finalizer::AGENT_SERVICE_CONFIG, finalizer::LOCAL_CLUSTER_IMPORT]}});
    api.patch("agent", &PatchParams::default(), &Patch::Merge(finalizers)).await.unwrap();
    api.delete("agent", &DeleteParams::default()).await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(hub.client.clone(), NAMESPACE);
    eventually("everything is gone", async || {
        let left = deployments.list(&ListParams::default()).await.unwrap().items;
        api.get_opt("agent").await.unwrap().is_none()
            && left.len() == 1
            && left[0].name_any() == "assisted-operator"
    })
    .await;
    running.stop().await;
}

/// What somebody changes or deletes comes back.
async fn mends_drift(hub: &Hub) {
    let services: Api<Service> = Api::namespaced(hub.client.clone(), NAMESPACE);
    services.delete("assisted-service", &DeleteParams::default()).await.unwrap();
    eventually("the service is made anew", async || {
        services.get_opt("assisted-service").await.unwrap().is_some()
    })
    .await;

    let deployments: Api<Deployment> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let change = json!({"spec": {"replicas": 0, "template": {"spec": {"containers": [
        {"name": "assisted-service", "image": "registry.example.com/other"}]}}}});
    deployments.patch("assisted-service", &PatchParams::default(), &Patch::Strategic(change)).await.unwrap();
    eventually("the deployment is mended", async || {
        let spec = deployments.get("assisted-service").await.unwrap().spec.unwrap();
        let image = spec.template.spec.unwrap().containers[0].image.clone();
        spec.replicas == Some(1) && image.as_deref() == Some("registry.example.com/assisted:1")
    })
    .await;

    let maps: Api<ConfigMap> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let change = json!({"data": {"AUTH_TYPE": "none"}});
    maps.patch("assisted-service", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    eventually("the settings are mended", async || {
        maps.get("assisted-service").await.unwrap().data.unwrap()["AUTH_TYPE"] == "local"
    })
    .await;
}

/// What the AgentServiceConfig says anew is done; what it no longer says goes; keys stay.
async fn follows_changes(hub: &Hub) {
    let secrets: Api<Secret> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let keys = secrets.get("assisted-servicelocal-auth").await.unwrap();
    let sealing = secrets.get("assisted-service-seal-keys").await.unwrap();
    // What the service reads.
    let (dir, text) = (tempfile::tempdir().unwrap(), &sealing.data.as_ref().unwrap()["seal-keys"].0);
    let path = dir.path().join("seal-keys");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o440)).unwrap();
    assisted_seal::KeyFile::new(path, None).read().await.unwrap();
    let api: Api<AgentServiceConfig> = Api::all(hub.client.clone());
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}});
    let change =
        json!({"spec": {"databaseStorage": claim, "filesystemStorage": claim, "imageStorage": claim}});
    api.patch("agent", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    let sets: Api<StatefulSet> = Api::namespaced(hub.client.clone(), NAMESPACE);
    // Its volumes can't change: it is made anew.
    eventually("the images have a volume", async || {
        let set = sets.get_opt("assisted-image-service").await.unwrap();
        set.is_some_and(|set| set.spec.unwrap().volume_claim_templates.is_some())
    })
    .await;
    eventually("nothing is lost with a pod", async || {
        condition(&hub.client, "DataPersistent").await.is_none()
    })
    .await;
    let deployments: Api<Deployment> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let spec = deployments.get("assisted-service").await.unwrap().spec.unwrap().template.spec.unwrap();
    assert_eq!(spec.containers.len(), 2);

    // A volume can't be taken away, and an annotation that stays can't come.
    let change = json!({"spec": {"databaseStorage": null}});
    let refused = api.patch("agent", &PatchParams::default(), &Patch::Merge(change)).await.unwrap_err();
    assert!(refused.to_string().contains("spec.databaseStorage: Required value"), "{refused}");
    let change =
        json!({"metadata": {"annotations": {"agent-install.openshift.io/enable-image-service": "false"}}});
    api.patch("agent", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    eventually("it is refused", async || {
        reason(&hub.client, "ReconcileCompleted").await == "ImmutableAnnotationFailure"
    })
    .await;
    let change =
        json!({"metadata": {"annotations": {"agent-install.openshift.io/enable-image-service": null}}});
    api.patch("agent", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    reconciled(&hub.client).await;

    // A mirror that comes later is taken up when it comes.
    let change = json!({"spec": {"mirrorRegistryRef": {"name": "mirror"}}});
    api.patch("agent", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    eventually("the mirror is missed", async || {
        let told = condition(&hub.client, "ReconcileCompleted").await.unwrap();
        told.2 == "Mirror registry configmap mirror is missing"
    })
    .await;
    hub.apply(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: mirror, namespace: {NAMESPACE}}}\n\
         data: {{registries.conf: \"unqualified-search-registries = ['docker.io']\"}}\n"
    ));
    reconciled(&hub.client).await;
    let settings: Api<ConfigMap> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let settings = settings.get("assisted-service").await.unwrap().data.unwrap();
    assert!(settings["PUBLIC_CONTAINER_REGISTRIES"].contains("docker.io"));

    // What the operator no longer wants goes; what others own stays, whatever its label says.
    let ingresses: Api<Ingress> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let uid = api.get("agent").await.unwrap().uid().unwrap();
    let stray = |name: &str, owner: &str| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
               "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/managed-by": "assisted-operator"},
                            "ownerReferences": [{"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentServiceConfig",
                                                 "name": "agent", "uid": owner}]},
               "spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 1}}}}})
        .to_string()
    };
    hub.apply(&stray("stray", &uid));
    eventually("it is pruned", async || ingresses.get_opt("stray").await.unwrap().is_none()).await;
    assert_eq!(secrets.get("assisted-servicelocal-auth").await.unwrap().data, keys.data);
    assert_eq!(secrets.get("assisted-service-seal-keys").await.unwrap().data, sealing.data);
}

/// Where nothing changes, nothing is written.
async fn keeps_quiet(hub: &Hub) {
    let versions = async || -> Vec<Value> {
        let kinds = "deployments,statefulsets,services,secrets,configmaps,ingresses,networkpolicies,agentserviceconfigs";
        let list = hub.get(&["get", kinds, "--namespace", NAMESPACE, "--output=json"]);
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["resourceVersion"].clone())
            .collect()
    };
    run_pods(&hub.client, NAMESPACE).await;
    eventually("it runs", async || reason(&hub.client, "DeploymentsHealthy").await == "DeploymentSucceeded")
        .await;
    let before = versions().await;
    // Something else happens: the operator looks, and finds nothing to do.
    hub.apply(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: other, namespace: {NAMESPACE}}}\n"
    ));
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let after = versions().await;
    assert_eq!(after.len(), before.len() + 1);
    assert!(before.iter().all(|version| after.contains(version)), "{before:?} {after:?}");
}

/// Another AgentServiceConfig is none; and the operator may do nothing else.
async fn keeps_others_out(hub: &Hub, operator: &Client) {
    hub.apply(
        "apiVersion: agent-install.openshift.io/v1beta1\nkind: AgentServiceConfig\nmetadata: {name: other}\n\
         spec: {databaseStorage: {}, filesystemStorage: {}}\n",
    );
    let events: Api<Event> = Api::namespaced(hub.client.clone(), "default");
    eventually("it is told", async || {
        let text = "Only one AgentServiceConfig supported per cluster and must be named 'agent'";
        events.list(&ListParams::default()).await.unwrap().into_iter().any(|event| {
            event.note.as_deref() == Some(text) && event.reason.as_deref() == Some("Invalid name (other)")
        })
    })
    .await;
    for namespace in ["default", "kube-system"] {
        let secrets: Api<Secret> = Api::namespaced(operator.clone(), namespace);
        let error = secrets.list(&ListParams::default()).await.unwrap_err();
        assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");
    }
    let secrets: Api<Secret> = Api::namespaced(operator.clone(), NAMESPACE);
    let error = secrets.delete("assisted-servicelocal-auth", &DeleteParams::default()).await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");
}
