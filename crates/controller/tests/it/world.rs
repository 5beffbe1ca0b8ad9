//! An OpenShift cluster's API as far as the controller sees it: the kinds of objects, and the objects of a cluster that
//! has just begun.

use std::time::Duration;

use assisted_lab_kinds::Kind;
use assisted_testkit::kube::{Kube, SIGNER};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;

/// The kinds that the controller meets.
const KINDS: &[&str] = &[
    "ClusterOperator",
    "ClusterVersion",
    "Proxy",
    "MachineConfigPool",
    "Machine",
    "BareMetalHost",
    "Provisioning",
    "MachineConfig",
    "MachineOSConfig",
    "MachineOSBuild",
    "OperatorGroup",
    "Subscription",
    "InstallPlan",
    "ClusterServiceVersion",
    "Config",
];

const CLUSTER_ID: &str = "1b7dbf10-3b7f-4a7b-8d1a-3a8c2c2f5a4e";

/// When everything happened that has a time.
const TIME: &str = "2026-01-01T00:00:00Z";

const MACHINES: &str = "openshift-machine-api";

const NAMESPACES: &[&str] = &[
    "openshift-marketplace",
    "openshift-nmstate",
    "metallb-system",
    "assisted-installer",
    "openshift-config",
    "openshift-config-managed",
    "openshift-machine-api",
    "openshift-machine-config-operator",
    "openshift-dns",
    "openshift-dns-operator",
];

/// What the controller's account may do (installer-and-controller §B2): groups, resources, verbs.
const RULES: &[(&[&str], &[&str], &[&str])] = &[
    (&[""], &["pods", "configmaps", "pods/log"], &["get", "list", "watch"]),
    (&[""], &["nodes"], &["get", "list", "watch", "patch"]),
    (&[""], &["events"], &["create"]),
    (&[""], &["services"], &["list", "delete"]),
    (&[""], &["pods"], &["deletecollection"]),
    (&["certificates.k8s.io"], &["certificatesigningrequests"], &["get", "list", "watch"]),
    (&["certificates.k8s.io"], &["certificatesigningrequests/approval"], &["update"]),
    (&["certificates.k8s.io"], &["signers"], &["approve"]),
    (&["batch"], &["jobs"], &["get", "list", "delete"]),
    (&["config.openshift.io"], &["clusteroperators"], &["get", "create", "list", "watch"]),
    (&["config.openshift.io"], &["proxies", "clusterversions"], &["get", "list"]),
    (&["metal3.io"], &["baremetalhosts"], &["get", "list", "watch", "update", "patch"]),
    (&["metal3.io"], &["baremetalhosts/status"], &["get", "patch", "update"]),
    (&["metal3.io"], &["provisionings"], &["get", "list"]),
    (&["machine.openshift.io"], &["machines"], &["get", "list", "watch"]),
    (&["machineconfiguration.openshift.io"], &["*"], &["get", "patch"]),
    (&["operators.coreos.com"], &["clusterserviceversions"], &["get", "list"]),
    (&["operators.coreos.com"], &["subscriptions", "installplans"], &["get", "list", "update", "delete"]),
];

const ACCOUNT: &str = "system:serviceaccount:assisted-installer:assisted-installer-controller";

/// How long anything may take.
const TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) struct World {
    pub(crate) kube: Kube,
    pub(crate) admin: Client,
    kinds: Vec<Kind>,
}

pub(crate) async fn client(kubeconfig: Kubeconfig) -> Client {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Looks until something is there.
pub(crate) async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    found(look).await.unwrap_or_else(|| panic!("it never came: {what}"))
}

/// What is looked for; none when it does not come.
pub(crate) async fn found<T>(mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, looking).await.ok()
}

/// A condition that holds.
fn condition_of(name: &str, message: &str) -> Value {
    json!({"type": name, "status": "True", "lastTransitionTime": TIME, "message": message})
}

/// Says that a schema takes any field.
const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

/// The definition of a kind: the published one, where it is at hand.
fn definition(kind: &Kind) -> Value {
    kind.published_alone().unwrap().unwrap_or_else(|| kind.definition().unwrap())
}

/// What a schema has of a value; `left` gets the paths of what it does not have.
fn declared(value: &Value, schema: &Value, path: &str, left: &mut Vec<String>) -> Value {
    match value {
        _ if schema[OPEN] == true => value.clone(),
        Value::Array(items) => {
            items.iter().map(|item| declared(item, &schema["items"], &format!("{path}[]"), left)).collect()
        }
        Value::Object(members) if schema.get("additionalProperties").is_none() => {
            let mut known = serde_json::Map::new();
            for (name, value) in members {
                let path = format!("{path}.{name}");
                match schema["properties"].get(name) {
                    Some(schema) => drop(known.insert(name.clone(), declared(value, schema, &path, left))),
                    None => left.push(path),
                }
            }
            known.into()
        }
        _ => value.clone(),
    }
}

fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

impl World {
    pub(crate) async fn start() -> Self {
        // Shown where a test fails.
        let logs = tracing_subscriber::fmt().with_test_writer().with_max_level(LevelFilter::INFO);
        let _ = logs.with_ansi(false).try_init();
        let kube = tokio::task::spawn_blocking(|| Kube::launch(&[SIGNER])).await.unwrap().unwrap();
        let admin = client(Kubeconfig::read_from(kube.kubeconfig()).unwrap()).await;
        let mut kinds = assisted_lab_kinds::kinds().unwrap();
        kinds.retain(|kind| KINDS.contains(&kind.kind.as_str()));
        assert_eq!(kinds.len(), KINDS.len());
        let world = Self { kube, admin, kinds };
        world.define_kinds(&world.kinds, definition).await;
        for name in NAMESPACES {
            world.namespace(name).await;
        }
        world.config("Proxy", "proxies", "cluster", json!({}), json!({})).await;
        let spec = json!({"clusterID": CLUSTER_ID});
        world.config("ClusterVersion", "clusterversions", "version", spec, Value::Null).await;
        world
    }

    pub(crate) async fn namespace(&self, name: &str) {
        self.apply("v1", "Namespace", "namespaces", None, json!({"metadata": {"name": name}})).await;
    }

    /// The API knows kinds from now on.
    async fn define_kinds(&self, kinds: &[Kind], definition: impl Fn(&Kind) -> Value) {
        for kind in kinds {
            let definition: CustomResourceDefinition = serde_json::from_value(definition(kind)).unwrap();
            Api::all(self.admin.clone()).create(&Default::default(), &definition).await.unwrap();
        }
        for kind in kinds {
            let api = self.api(&kind.group, &kind.version, &kind.kind, &kind.plural, None);
            until(&kind.kind, async || api.list(&Default::default()).await.ok()).await;
        }
    }

    /// The API knows the kinds that an operator brings, as they are published where that is known.
    pub(crate) async fn define(&self, operator: &str) {
        let all = assisted_lab_kinds::operators().unwrap();
        if let Some(known) = all.iter().find(|known| known.operator == operator) {
            self.define_kinds(&known.kinds, definition).await;
        }
    }

    /// The part of an object that its kind's definition has, and paths of the fields that it does not have.
    pub(crate) fn declared(object: &Value) -> (Value, Vec<String>) {
        let kinds = assisted_lab_kinds::operators().unwrap().into_iter().flat_map(|each| each.kinds);
        let version = |kind: &Kind| format!("{}/{}", kind.group, kind.version);
        let known = kinds
            .into_iter()
            .find(|kind| object["kind"] == kind.kind.as_str() && object["apiVersion"] == version(kind));
        let Some(kind) = known else { return (object.clone(), Vec::new()) };
        let definition = definition(&kind);
        let versions = definition["spec"]["versions"].as_array().unwrap();
        let of_version = versions.iter().find(|version| version["name"] == kind.version.as_str()).unwrap();
        let mut schema = of_version["schema"]["openAPIV3Schema"].clone();
        // Every object has these.
        for name in ["apiVersion", "kind", "metadata"] {
            schema["properties"][name] = json!({OPEN: true});
        }
        let mut left = Vec::new();
        (declared(object, &schema, &kind.kind, &mut left), left)
    }

    /// The API of an object, whatever it is.
    async fn api_of(&self, object: &Value) -> Result<Api<DynamicObject>, kube::Error> {
        let text = |name: &str| object[name].as_str().unwrap();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let kind = GroupVersionKind::gvk(group, version, text("kind"));
        let (resource, capabilities) = pinned_kind(&self.admin, &kind).await?;
        Ok(match object["metadata"]["namespace"].as_str() {
            Some(namespace) if capabilities.scope == Scope::Namespaced => {
                Api::namespaced_with(self.admin.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.admin.clone(), &resource),
        })
    }

    /// Applies an object of any kind; what is stored of it.
    pub(crate) async fn apply_any(&self, object: &Value) -> Result<Value, kube::Error> {
        let name = object["metadata"]["name"].as_str().unwrap();
        let params = PatchParams::apply("installer").force();
        let stored = self.api_of(object).await?.patch(name, &params, &Patch::Apply(object)).await?;
        Ok(serde_json::to_value(stored).unwrap())
    }

    /// What is stored under the name of an object, if anything is.
    pub(crate) async fn get_like(&self, object: &Value) -> Option<Value> {
        let name = object["metadata"]["name"].as_str().unwrap();
        let found = self.api_of(object).await.ok()?.get(name).await.ok()?;
        Some(serde_json::to_value(found).unwrap())
    }

    fn api(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        plural: &str,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let resource = resource(group, version, kind, plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), namespace, &resource),
            None => Api::all_with(self.admin.clone(), &resource),
        }
    }

    /// Makes an object, or what is told of it, so; its status too, where that has a place of its own.
    pub(crate) async fn apply(
        &self,
        group_version: &str,
        kind: &str,
        plural: &str,
        namespace: Option<&str>,
        mut object: Value,
    ) {
        let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
        object["apiVersion"] = group_version.into();
        object["kind"] = kind.into();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let api = self.api(group, version, kind, plural, namespace);
        let params = PatchParams::apply("test").force();
        api.patch(&name, &params, &Patch::Apply(&object)).await.unwrap();
        let of_operators = assisted_lab_kinds::operators().unwrap().into_iter().flat_map(|each| each.kinds);
        let mut kinds = self.kinds.iter().cloned().chain(of_operators);
        let known = kinds.find(|known| known.group == group && known.kind == kind);
        if known.is_some_and(|known| known.status) && object["status"].is_object() {
            api.patch_status(&name, &params, &Patch::Apply(&object)).await.unwrap();
        }
    }

    /// Writes a part of an object's status.
    pub(crate) async fn patch_status(&self, kind: (&str, &str, &str), name: &str, status: &Value) {
        let (group, version) = kind.0.split_once('/').unwrap_or(("", kind.0));
        let objects = self.api(group, version, kind.1, kind.2, None);
        objects.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    /// An object, if it is there.
    pub(crate) async fn get(
        &self,
        group_version: &str,
        kind: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Value> {
        let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
        let found = self.api(group, version, kind, plural, namespace).get(name).await.ok()?;
        Some(serde_json::to_value(found).unwrap())
    }

    /// The names of all objects of a kind that lies in no namespace.
    pub(crate) async fn list(&self, group_version: &str, kind: &str, plural: &str) -> Vec<String> {
        let (group, version) = group_version.split_once('/').unwrap();
        let found = self.api(group, version, kind, plural, None).list(&Default::default()).await.unwrap();
        found.items.into_iter().filter_map(|object| object.metadata.name).collect()
    }

    /// A bare-metal host of the cluster.
    pub(crate) async fn bare_metal_host(&self, name: &str, mut metadata: Value, spec: Value) {
        metadata["name"] = name.into();
        let object = json!({"metadata": metadata, "spec": spec});
        let kind = ("metal3.io/v1alpha1", "BareMetalHost", "baremetalhosts");
        self.apply(kind.0, kind.1, kind.2, Some(MACHINES), object).await;
    }

    pub(crate) async fn get_bare_metal_host(&self, name: &str) -> Value {
        let found = self.get("metal3.io/v1alpha1", "BareMetalHost", "baremetalhosts", Some(MACHINES), name);
        found.await.unwrap()
    }

    /// A machine of a role.
    pub(crate) async fn machine(&self, name: &str, role: &str) {
        let labels = json!({"machine.openshift.io/cluster-api-machine-role": role});
        let object = json!({"metadata": {"name": name, "labels": labels}, "spec": {}});
        self.apply("machine.openshift.io/v1beta1", "Machine", "machines", Some(MACHINES), object).await;
    }

    async fn config(&self, kind: &str, plural: &str, name: &str, spec: Value, status: Value) {
        let mut object = json!({"metadata": {"name": name}, "spec": spec});
        if status.is_object() {
            object["status"] = status;
        }
        self.apply("config.openshift.io/v1", kind, plural, None, object).await;
    }

    /// Lets a user or a group do something.
    pub(crate) async fn grant(&self, name: &str, kind: &str, to: &str, rules: Value) {
        let group = "rbac.authorization.k8s.io";
        let version = "rbac.authorization.k8s.io/v1";
        let role = json!({"metadata": {"name": name}, "rules": rules});
        self.apply(version, "ClusterRole", "clusterroles", None, role).await;
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": kind, "apiGroup": group, "name": to}],
        });
        self.apply(version, "ClusterRoleBinding", "clusterrolebindings", None, binding).await;
    }

    /// The credentials of the controller's account, which may do what its Job may, and no more.
    pub(crate) async fn account(&self) -> String {
        let rule = |(groups, resources, verbs): &(&[&str], &[&str], &[&str])| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
        self.grant("controller", "User", ACCOUNT, RULES.iter().map(rule).collect()).await;
        let images = json!([{
            "apiGroups": ["machineconfiguration.openshift.io"], "resources": ["machineconfigs"],
            "resourceNames": ["09-ocl-osimageurl-master", "09-ocl-osimageurl-worker"], "verbs": ["delete"],
        }]);
        self.grant("controller-images", "User", ACCOUNT, images).await;
        let text = self.kube.kubeconfig_of(ACCOUNT, &["system:serviceaccounts", "system:authenticated"]);
        let own = client(Kubeconfig::from_yaml(&text).unwrap()).await;
        // What may be done is known a moment after it was granted.
        let proxies =
            Api::<DynamicObject>::all_with(own, &resource("config.openshift.io", "v1", "Proxy", "proxies"));
        until("the account's rights", async || proxies.get("cluster").await.ok()).await;
        text
    }

    /// What an operator says of itself.
    pub(crate) async fn operator(&self, name: &str, condition: &str, message: &str) {
        let status = json!({
            "conditions": [condition_of(condition, message)],
            "versions": [{"name": "operator", "version": "4.20.1"}],
        });
        self.config("ClusterOperator", "clusteroperators", name, json!({}), status).await;
    }

    pub(crate) async fn version(&self, condition: &str, message: &str) {
        let status = json!({
            "conditions": [condition_of(condition, message)],
            "desired": {"version": "4.20.1", "image": "quay.io/release:4.20.1"},
            "observedGeneration": 1, "versionHash": "hash", "availableUpdates": [],
        });
        let spec = json!({"clusterID": CLUSTER_ID});
        self.config("ClusterVersion", "clusterversions", "version", spec, status).await;
    }

    pub(crate) async fn config_map(&self, namespace: &str, name: &str, data: Value) {
        let object = json!({"metadata": {"name": name}, "data": data});
        self.apply("v1", "ConfigMap", "configmaps", Some(namespace), object).await;
    }
}
