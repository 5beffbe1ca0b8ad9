//! One management cluster for all tests of the process: a real API server and the providers, each with the rights that are declared
//! for it and no others. Each test has a namespace of its own, and plays infrastructure and installer in it.

use std::fmt::Debug;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use assisted_capi::control_plane::Installer;
use assisted_capi::installer::hub::{self, Hub};
use assisted_capi::rbac::{BOOTSTRAP, CONTROL_PLANE};
use assisted_capi::{bootstrap, control_plane};
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::metal3_machine_template::Metal3MachineTemplate;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_crd::condition::find;
use assisted_crd::definition;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::client::{from_file, from_text};
use assisted_kube::error::{is_conflict, optional};
use assisted_kube::lease::Settings;
use assisted_kubeapi::rbac::{Role, manifest};
use assisted_testkit::kube::Kube;
use assisted_testkit::oci::{OPENSHIFT_INSTALL, push_release};
use assisted_testkit::{Access, DockerRegistry};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long something may take; a failing test waits as long.
const PATIENCE: Duration = Duration::from_secs(180);
const SILENCE: Duration = Duration::from_secs(330);
/// What the service serves as the discovery's Ignition config.
pub const DISCOVERY: &str =
    r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/root/.docker/config.json"}]}}"#;
/// The id of the infra-env of which the service has nothing.
pub const BROKEN: &str = "broken";

/// The service, which serves Ignition configs.
pub fn service() -> SocketAddr {
    shared().0
}

/// The versions of releases in the registry.
pub const RELEASES: [&str; 2] = ["4.20.0", "4.20.1"];

/// The service, and the registry with releases.
fn shared() -> &'static (SocketAddr, String) {
    static SHARED: OnceLock<(SocketAddr, String)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
                let address = listener.local_addr().unwrap();
                let files = get(|axum::extract::Path(id): axum::extract::Path<String>| async move {
                    match id.as_str() {
                        BROKEN => (StatusCode::NOT_FOUND, String::new()),
                        _ => (StatusCode::OK, DISCOVERY.to_owned()),
                    }
                });
                let app =
                    Router::new().route("/api/assisted-install/v2/infra-envs/{id}/downloads/files", files);
                tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
                let images = tempfile::tempdir().unwrap();
                let registry = DockerRegistry::start(images.path(), &Access::default()).unwrap();
                for version in RELEASES {
                    push_release(&registry, version, OPENSHIFT_INSTALL.as_bytes()).await.unwrap();
                }
                provide().await;
                send.send((address, registry.name())).unwrap();
                std::future::pending::<()>().await;
            });
        });
        receive.recv().unwrap()
    })
}

/// The registry with releases.
pub async fn registry() -> String {
    tokio::task::spawn_blocking(|| shared().1.clone()).await.unwrap()
}

/// The lease of a provider.
pub fn lease() -> Settings {
    Settings {
        namespace: "default".to_owned(),
        identity: "test".to_owned(),
        duration: Duration::from_secs(15),
        deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    }
}

async fn provide() {
    let client = client().await;
    define(&client).await;
    let limited = account(&BOOTSTRAP).await;
    let hub = Hub::new(limited.clone(), hub::Options::default());
    tokio::spawn(async move {
        let ended = Box::pin(bootstrap::run(limited, hub, lease(), CancellationToken::new())).await;
        panic!("the provider ended: {ended:?}");
    });
    let limited = account(&CONTROL_PLANE).await;
    tokio::spawn(async move {
        let ended = Box::pin(control_plane::run(
            limited.clone(),
            Installer::hub(limited),
            lease(),
            CancellationToken::new(),
        ))
        .await;
        panic!("the provider ended: {ended:?}");
    });
}

/// The account of a provider.
async fn account(role: &'static Role) -> Client {
    let kubeconfig = tokio::task::spawn_blocking(move || {
        let kube = Kube::start().unwrap();
        apply(kube, &manifest(role, "default"));
        let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
        kube.kubeconfig_of(&format!("system:serviceaccount:default:{}", role.account), &groups)
    });
    from_text(&kubeconfig.await.unwrap(), SILENCE).await.unwrap()
}

pub fn apply(kube: &Kube, manifests: &str) {
    let mut kubectl = kube.kubectl();
    let kubectl = kubectl.args(["apply", "--server-side", "--filename=-"]);
    let mut child = kubectl.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifests.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

pub async fn client() -> Client {
    let kube = tokio::task::spawn_blocking(|| Kube::start().unwrap()).await.unwrap();
    from_file(&kube.kubeconfig(), SILENCE).await.unwrap()
}

/// Groups of the kinds that the providers look at.
pub const GROUPS: [&str; 8] = [
    "agent-install.openshift.io",
    "bootstrap.cluster.x-k8s.io",
    "cluster.x-k8s.io",
    "controlplane.cluster.x-k8s.io",
    "extensions.hive.openshift.io",
    "hive.openshift.io",
    "infrastructure.cluster.x-k8s.io",
    "metal3.io",
];

async fn define(client: &Client) {
    define_groups(client, |group| GROUPS.contains(&group)).await;
}

/// Installs the definitions of some groups.
pub async fn define_groups(client: &Client, is_wanted: impl Fn(&str) -> bool) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut definitions = definition::read(definition::OURS).unwrap();
    definitions.extend(definition::read(definition::OTHERS).unwrap());
    definitions.retain(|definition| is_wanted(&definition.spec.group));
    for definition in &definitions {
        api.create(&PostParams::default(), definition).await.unwrap();
    }
    for definition in definitions {
        let name = definition.name_any();
        wait(&name, async || {
            let conditions = api.get(&name).await.unwrap().status.unwrap_or_default().conditions;
            conditions.iter().flatten().any(|found| found.type_ == "Established" && found.status == "True")
        })
        .await;
    }
}

/// Waits until something is so.
pub async fn wait(what: &str, is_so: impl AsyncFn() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < deadline, "it never comes: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What all kinds are here.
pub trait Object:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize + DeserializeOwned + Clone + Debug
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug
{
}

/// A namespace of the management cluster.
#[derive(Clone)]
pub struct Site {
    pub client: Client,
    pub namespace: &'static str,
    pub service: SocketAddr,
}

impl Site {
    pub async fn new(namespace: &'static str) -> Self {
        let service = tokio::task::spawn_blocking(service).await.unwrap();
        let client = client().await;
        let mut own = Namespace::default();
        own.metadata.name = Some(namespace.to_owned());
        Api::all(client.clone()).create(&PostParams::default(), &own).await.unwrap();
        Self { client, namespace, service }
    }

    pub fn api<K: Object>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    pub async fn create<K: Object>(&self, name: &str, fields: Value) -> K {
        let mut object = fields;
        object["metadata"]["name"] = name.into();
        let typed: K = serde_json::from_value(object.clone()).unwrap();
        // The fields that the type does not know are wanted, too.
        let mut whole = serde_json::to_value(&typed).unwrap();
        json_patch(&mut whole, &object);
        let dynamic: kube::core::DynamicObject = serde_json::from_value(whole).unwrap();
        let resource = kube::core::ApiResource::erase::<K>(&());
        let api: Api<kube::core::DynamicObject> =
            Api::namespaced_with(self.client.clone(), self.namespace, &resource);
        let created = api.create(&PostParams::default(), &dynamic).await.unwrap();
        serde_json::from_value(serde_json::to_value(created).unwrap()).unwrap()
    }

    /// Merges something into an object.
    pub async fn merge<K: Object>(&self, name: &str, change: Value) -> K {
        self.api().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap()
    }

    /// Merges something into the status of an object.
    pub async fn status<K: Object>(&self, name: &str, status: Value) -> K {
        let change = json!({"status": status});
        self.api().patch_status(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap()
    }

    pub async fn delete<K: Object>(&self, name: &str) {
        self.api::<K>().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub async fn find<K: Object>(&self, name: &str) -> Option<K> {
        optional(self.api::<K>().get(name).await).unwrap()
    }

    /// Waits until an object is as it should be.
    pub async fn until<K: Object>(&self, name: &str, is_so: impl Fn(&K) -> bool) -> K {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let found = self.find::<K>(name).await;
            if let Some(found) = &found
                && is_so(found)
            {
                return found.clone();
            }
            let late = tokio::time::Instant::now() >= deadline;
            assert!(!late, "{name} does not become what it should be: {found:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub async fn gone<K: Object>(&self, name: &str) {
        wait(&format!("{name} goes"), async || self.find::<K>(name).await.is_none()).await;
    }

    /// A Cluster, without its infrastructure.
    pub async fn cluster(&self, name: &str) -> Cluster {
        let network =
            json!({"pods": {"cidrBlocks": ["172.18.0.0/20"]}, "services": {"cidrBlocks": ["10.96.0.0/12"]}});
        let endpoint = json!({"host": "api.example.com", "port": 6443});
        let spec = json!({"clusterNetwork": network, "controlPlaneEndpoint": endpoint});
        self.create(name, json!({"metadata": {}, "spec": spec})).await
    }

    /// The ConfigMap by which a control plane finds the registry with releases.
    pub async fn registries(&self, name: &str) {
        let registry = registry().await;
        let conf = format!(
            "[[registry]]\nlocation = \"quay.io/openshift-release-dev/ocp-release\"\n\
             [[registry.mirror]]\nlocation = \"{registry}/ocp/release\"\ninsecure = true\npull-from-mirror = \"all\"\n"
        );
        let map = json!({"metadata": {}, "data": {"registries.conf": conf}});
        self.create::<ConfigMap>(name, map).await;
    }

    /// A Cluster with its control plane, and the template of its machines; without its infrastructure.
    pub async fn control_plane(&self, cluster: &str, name: &str, fields: Value) -> Plane {
        self.registries(&format!("{name}-mirrors")).await;
        let of_cluster = self.cluster(cluster).await;
        let reference = json!({"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "OpenshiftAssistedControlPlane", "name": name});
        self.merge::<Cluster>(cluster, json!({"spec": {"controlPlaneRef": reference}})).await;
        let image = json!({"url": "http://images/disk", "checksum": "http://images/sum"});
        let template = json!({"metadata": {}, "spec": {"template": {"spec": {"image": image}}}});
        self.create::<Metal3MachineTemplate>(name, template).await;
        let owner = json!([{
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": cluster,
            "uid": of_cluster.uid().unwrap(), "controller": true,
        }]);
        let infrastructure = json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3MachineTemplate", "name": name});
        let mut spec = json!({
            "config": {"baseDomain": "example.com", "imageRegistryRef": {"name": format!("{name}-mirrors")}},
            "distributionVersion": "4.20.0", "replicas": 3, "machineTemplate": {"infrastructureRef": infrastructure},
        });
        json_patch(&mut spec, &fields["spec"]);
        let labels = json!({"cluster.x-k8s.io/cluster-name": cluster});
        let metadata =
            json!({"ownerReferences": owner, "labels": labels, "annotations": fields["annotations"]});
        self.create(name, json!({"metadata": metadata, "spec": spec})).await
    }

    /// The Machines of a control plane that stay, once there are so many of them.
    pub async fn machines(&self, plane: &str, count: usize) -> Vec<Machine> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let all = self.api::<Machine>().list(&ListParams::default()).await.unwrap().items;
            let is_own = |machine: &Machine| {
                machine.owner_references().iter().any(|owner| owner.name == plane)
                    && machine.metadata.deletion_timestamp.is_none()
            };
            let own: Vec<_> = all.into_iter().filter(is_own).collect();
            if own.len() == count {
                return own;
            }
            let late = tokio::time::Instant::now() >= deadline;
            assert!(!late, "{count} machines are wanted: {own:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What Cluster API says of a Machine.
    pub async fn machine_is(&self, name: &str, says: &[(&str, &str)]) {
        // Others write conditions, too.
        loop {
            let machine: Machine = self.find(name).await.unwrap();
            let mut conditions = json!(machine.status.clone().unwrap_or_default().conditions);
            let list = conditions.as_array_mut().unwrap();
            for (kind, status) in says {
                list.retain(|condition| condition["type"] != *kind);
                list.push(json!({"type": kind, "status": status, "reason": "Test", "message": "",
                                 "lastTransitionTime": "2026-01-01T00:00:00Z"}));
            }
            let change = json!({
                "metadata": {"resourceVersion": machine.resource_version()}, "status": {"conditions": conditions},
            });
            let (machines, params) = (self.api::<Machine>(), PatchParams::default());
            match machines.patch_status(name, &params, &Patch::Merge(change)).await {
                Ok(_) => return,
                Err(error) => assert!(is_conflict(&error), "{error}"),
            }
        }
    }

    /// Waits until a control plane says something: status and reason of a condition.
    pub async fn plane_says(&self, name: &str, kind: &str, reason: &str) -> Plane {
        self.until(name, |plane: &Plane| plane_said(plane, kind).0 == reason).await
    }

    /// The infrastructure of a Cluster comes.
    pub async fn infrastructure(&self, cluster: &str) {
        let status = json!({"initialization": {"infrastructureProvisioned": true}});
        self.status::<Cluster>(cluster, status).await;
    }

    /// The cluster at the installer, in a state.
    pub async fn installation(&self, cluster: &str, state: &str) {
        let labels = json!({"cluster.x-k8s.io/cluster-name": cluster});
        let reference = json!({
            "group": "extensions.hive.openshift.io", "version": "v1beta1", "kind": "AgentClusterInstall", "name": "plane",
        });
        let spec = json!({
            "baseDomain": "example.com", "clusterName": cluster, "clusterInstallRef": reference,
            "platform": {"agentBareMetal": {"agentSelector": {}}},
        });
        self.create::<ClusterDeployment>("plane", json!({"metadata": {"labels": labels}, "spec": spec}))
            .await;
        let spec = json!({
            "clusterDeploymentRef": {"name": "plane"}, "networking": {},
            "provisionRequirements": {"controlPlaneAgents": 3},
        });
        self.create::<AgentClusterInstall>("plane", json!({"metadata": {}, "spec": spec})).await;
        self.installation_is(state).await;
    }

    pub async fn installation_is(&self, state: &str) {
        let status = json!({"debugInfo": {"state": state}});
        self.status::<AgentClusterInstall>("plane", status).await;
    }

    /// A Machine with its config, as Cluster API makes them.
    pub async fn machine(&self, cluster: &str, name: &str, fields: Value) -> OpenshiftAssistedConfig {
        let mut labels = json!({"cluster.x-k8s.io/cluster-name": cluster});
        if fields["controlPlane"] == true {
            labels["cluster.x-k8s.io/control-plane"] = "".into();
        }
        let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": name});
        let spec = json!({
            "clusterName": cluster,
            "bootstrap": {"configRef": reference("bootstrap.cluster.x-k8s.io", "OpenshiftAssistedConfig")},
            "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "Metal3Machine"),
        });
        let machine: Machine = self.create(name, json!({"metadata": {"labels": labels}, "spec": spec})).await;
        let owner = json!([{
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
            "uid": machine.uid().unwrap(), "controller": true,
        }]);
        let metadata =
            json!({"labels": labels, "ownerReferences": owner, "annotations": fields["annotations"]});
        let spec = if fields["spec"].is_object() { fields["spec"].clone() } else { json!({}) };
        self.create(name, json!({"metadata": metadata, "spec": spec})).await
    }

    /// The hub's service makes the image of an infra-env.
    pub async fn image(&self, infra_env: &str, id: &str) {
        let service = self.service;
        let events =
            format!("http://{service}/api/assisted-install/v2/events?infra_env_id={id}&api_key=hidden");
        let status =
            json!({"debugInfo": {"eventsURL": events}, "isoDownloadURL": format!("http://images/{id}.iso")});
        self.status::<InfraEnv>(infra_env, status).await;
    }

    /// A host registers.
    pub async fn host(&self, infra_env: &str, name: &str, address: &str) {
        let metadata = json!({"labels": {"infraenvs.agent-install.openshift.io": infra_env}});
        let spec = json!({"approved": false, "role": ""});
        self.create::<Agent>(name, json!({"metadata": metadata, "spec": spec})).await;
        let interface = json!({"name": "eth0", "macAddress": address, "ipV4Addresses": [], "ipV6Addresses": [], "flags": []});
        self.status::<Agent>(name, json!({"inventory": {"interfaces": [interface]}})).await;
    }

    /// Waits until a config says why there is no bootstrap data, or that there is.
    pub async fn config_says(&self, name: &str, reason: &str) -> OpenshiftAssistedConfig {
        self.until(name, |config: &OpenshiftAssistedConfig| said(config, "DataSecretAvailable").0 == reason)
            .await
    }
}

/// Reason and message of a condition of a control plane.
pub fn plane_said<'a>(plane: &'a Plane, kind: &str) -> (&'a str, &'a str) {
    let found = plane.status.as_ref().and_then(|status| find(&status.conditions, kind));
    found.map_or(("", ""), |found| (found.reason.as_str(), found.message.as_str()))
}

/// Reason and message of a condition of a config.
pub fn said<'a>(config: &'a OpenshiftAssistedConfig, kind: &str) -> (&'a str, &'a str) {
    let found = config.status.as_ref().and_then(|status| find(&status.conditions, kind));
    found.map_or(("", ""), |found| (found.reason.as_str(), found.message.as_str()))
}

fn json_patch(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (name, value) in patch {
                json_patch(target.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (target, Value::Null) if !target.is_null() => {}
        (target, value) => *target = value.clone(),
    }
}
