//! An OpenShift cluster's API as far as the controller sees it: the kinds of objects, and the objects of a cluster that
//! has just begun.

use std::time::Duration;

use assisted_testkit::kube::{Kube, SIGNER};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;

const KINDS: &[(&str, &str, &str, &str, &str)] = &[
    ("config.openshift.io", "v1", "ClusterOperator", "clusteroperators", "Cluster"),
    ("config.openshift.io", "v1", "ClusterVersion", "clusterversions", "Cluster"),
    ("config.openshift.io", "v1", "Proxy", "proxies", "Cluster"),
    ("machineconfiguration.openshift.io", "v1", "MachineConfigPool", "machineconfigpools", "Cluster"),
    ("machine.openshift.io", "v1beta1", "Machine", "machines", "Namespaced"),
    ("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts", "Namespaced"),
    ("metal3.io", "v1alpha1", "Provisioning", "provisionings", "Cluster"),
    ("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions", "Namespaced"),
    ("operators.coreos.com", "v1alpha1", "InstallPlan", "installplans", "Namespaced"),
    ("operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "clusterserviceversions", "Namespaced"),
];

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
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct World {
    pub(crate) kube: Kube,
    pub(crate) admin: Client,
}

pub(crate) async fn client(kubeconfig: Kubeconfig) -> Client {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Looks until something is there.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    found.await.unwrap_or_else(|_| panic!("it never came: {what}"))
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
        let world = Self { kube, admin };
        for (group, version, kind, plural, scope) in KINDS {
            let schema =
                json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
            // Where the controller writes a status, it must do so in the right place.
            let subresources = if *kind == "BareMetalHost" { json!({"status": {}}) } else { json!({}) };
            let definition: CustomResourceDefinition = serde_json::from_value(json!({
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {
                    "group": group, "scope": scope,
                    "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                    "versions": [{
                        "name": version, "served": true, "storage": true,
                        "schema": schema, "subresources": subresources,
                    }],
                },
            }))
            .unwrap();
            Api::all(world.admin.clone()).create(&Default::default(), &definition).await.unwrap();
        }
        for (group, version, kind, plural, _) in KINDS {
            let api = world.api(group, version, kind, plural, None);
            until(kind, async || api.list(&Default::default()).await.ok()).await;
        }
        for name in NAMESPACES {
            world.apply("v1", "Namespace", "namespaces", None, json!({"metadata": {"name": name}})).await;
        }
        world.config("Proxy", "proxies", "cluster", json!({})).await;
        world.config("ClusterVersion", "clusterversions", "version", json!({})).await;
        world
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

    /// Makes an object, or what is told of it, so.
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
        api.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(&object)).await.unwrap();
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
        let object = json!({"metadata": {"name": name, "labels": labels}});
        self.apply("machine.openshift.io/v1beta1", "Machine", "machines", Some(MACHINES), object).await;
    }

    async fn config(&self, kind: &str, plural: &str, name: &str, status: Value) {
        let object = json!({"metadata": {"name": name}, "status": status});
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
            "conditions": [{"type": condition, "status": "True", "message": message}],
            "versions": [{"name": "operator", "version": "4.20.1"}],
        });
        self.config("ClusterOperator", "clusteroperators", name, status).await;
    }

    pub(crate) async fn version(&self, condition: &str, message: &str) {
        let status = json!({
            "conditions": [{"type": condition, "status": "True", "message": message}],
            "desired": {"version": "4.20.1"},
        });
        self.config("ClusterVersion", "clusterversions", "version", status).await;
    }

    pub(crate) async fn config_map(&self, namespace: &str, name: &str, data: Value) {
        let object = json!({"metadata": {"name": name}, "data": data});
        self.apply("v1", "ConfigMap", "configmaps", Some(namespace), object).await;
    }
}
