//! What brings an operator into a cluster: a namespace, an operator group, a subscription; and the objects that make it do its
//! work once it is there (validations §8.6).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::catalogue::{self, Operator};

/// Which namespaces an operator looks after.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All of them.
    All,
    /// Its own.
    Own,
    /// All of them, from the namespace that clusters have for such operators.
    Shared,
}

/// How an operator is found in the catalogues of a cluster.
struct Package {
    operator: &'static str,
    /// Empty: that of the subscription.
    name: &'static str,
    source: &'static str,
    scope: Scope,
    /// Objects that are applied once it is there, YAML; empty: it needs none.
    objects: &'static str,
}

const REDHAT: &str = "redhat-operators";
const CERTIFIED: &str = "certified-operators";

const fn package(operator: &'static str, scope: Scope) -> Package {
    Package { operator, name: "", source: REDHAT, scope, objects: "" }
}

use Scope::{All, Own, Shared};

/// In the order of [`catalogue::OLM`].
const PACKAGES: &[Package] = &[
    Package { source: CERTIFIED, ..package("amd-gpu", All) },
    package("authorino", Shared),
    package("cluster-observability", All),
    Package {
        name: "kubevirt-hyperconverged",
        objects: include_str!("../../../data/operators/cnv.yaml"),
        ..package("cnv", Own)
    },
    package("fence-agents-remediation", All),
    package("kmm", All),
    package("kube-descheduler", Own),
    package("loki", All),
    package("lso", Own),
    Package { objects: include_str!("../../../data/operators/lvm.yaml"), ..package("lvm", Own) },
    Package { objects: include_str!("../../../data/operators/mce.yaml"), ..package("mce", Own) },
    Package { objects: include_str!("../../../data/operators/metallb.yaml"), ..package("metallb", All) },
    Package { objects: include_str!("../../../data/operators/mtv.yaml"), ..package("mtv", Own) },
    Package { objects: include_str!("../../../data/operators/nmstate.yaml"), ..package("nmstate", Own) },
    package("node-feature-discovery", Own),
    package("node-healthcheck", All),
    package("node-maintenance", All),
    package("numaresources", Own),
    Package { source: CERTIFIED, ..package("nvidia-gpu", Own) },
    package("oadp", Own),
    package("odf", Own),
    package("openshift-ai", All),
    package("openshift-logging", Own),
    package("osc", Own),
    package("pipelines", Shared),
    package("self-node-remediation", All),
    package("serverless", All),
    package("servicemesh", Shared),
];

/// Operators that bring storage, the best first, and the class that others take it by.
const STORAGE_CLASSES: [(&str, &str); 2] = [("odf", "ocs-storagecluster-cephfs"), ("lvm", "lvms-vg1")];

/// Manifests that are installed with a cluster, by their names.
pub fn manifests(operators: &[&str], version: &str) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut namespaces = BTreeSet::new();
    for (operator, package) in chosen(operators) {
        let Operator { name, namespace, .. } = operator;
        // Operators that share a namespace share its group: there may be only one.
        if package.scope != Shared && namespaces.insert(*namespace) {
            let targets = if package.scope == Own { json!([namespace]) } else { Value::Null };
            let spec = if targets.is_null() { json!({}) } else { json!({"targetNamespaces": targets}) };
            all.push((
                format!("50_{name}_ns.yaml"),
                json!({
                    "apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": namespace, "labels": {"openshift.io/cluster-monitoring": "true"}},
                }),
            ));
            all.push((
                format!("50_{name}_operatorgroup.yaml"),
                json!({
                    "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
                    "metadata": {"name": namespace, "namespace": namespace}, "spec": spec,
                }),
            ));
        }
        let subscription = operator.subscription(version);
        let package_name = if package.name.is_empty() { subscription } else { package.name };
        all.push((
            format!("50_{name}_subscription.yaml"),
            json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
                "metadata": {"name": subscription, "namespace": namespace},
                // Without a channel the package's own default is taken.
                "spec": {
                    "name": package_name, "source": package.source, "sourceNamespace": "openshift-marketplace",
                    "installPlanApproval": "Automatic",
                },
            }),
        ));
    }
    all
}

/// Objects that are applied once an operator is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objects<'o> {
    /// The operator's name.
    pub operator: &'o str,
    /// YAML, of several documents maybe.
    pub yaml: Cow<'static, str>,
}

/// The objects that operators need once they are there.
pub fn objects<'o>(operators: &[&'o str]) -> Vec<Objects<'o>> {
    let own = operators.iter().filter_map(|name| Some((*name, find(name)?.1.objects)));
    let own = own.filter(|(_, yaml)| !yaml.is_empty());
    let mut all: Vec<_> = own.map(|(operator, yaml)| Objects { operator, yaml: yaml.into() }).collect();
    all.extend(assisted_service(operators));
    all
}

/// Where the multicluster engine has storage, it gets a service that installs further clusters; it needs the storage, so it
/// comes with the operator of that.
fn assisted_service<'o>(operators: &[&'o str]) -> Option<Objects<'o>> {
    if !operators.contains(&"mce") {
        return None;
    }
    let (storage, class) = STORAGE_CLASSES
        .iter()
        .find_map(|(name, class)| Some((operators.iter().find(|o| *o == name)?, *class)))?;
    let volume = |size: &str| {
        json!({
            "storageClassName": class, "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        })
    };
    let object = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentServiceConfig",
        "metadata": {"name": "agent"},
        "spec": {
            "databaseStorage": volume("10Gi"), "filesystemStorage": volume("10Gi"), "imageStorage": volume("50Gi"),
        },
    });
    // JSON is YAML.
    Some(Objects { operator: storage, yaml: object.to_string().into() })
}

/// The objects that operators need, as the cluster's own controller reads them when there is no service to ask: files by their
/// names, one for each document and one that tells of them.
pub fn objects_in_cluster(operators: &[&str], version: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Objects { operator, yaml } in objects(operators) {
        for document in serde_yaml_ng::Deserializer::from_str(&yaml) {
            // A test holds that all of them can be read.
            let Ok(object) = Value::deserialize(document) else { continue };
            let names = names.entry(operator).or_default();
            let name = format!("{operator}-{:02}.yaml", names.len() + 1);
            files.insert(name.clone(), STANDARD.encode(object.to_string()));
            names.push(name);
        }
    }
    for (operator, manifests) in names {
        let Some((operator, _)) = find(operator) else { continue };
        let metadata = json!({
            "namespace": operator.namespace, "subscriptionName": operator.subscription(version), "manifests": manifests,
        });
        files.insert(format!("{}.metadata.yaml", operator.name), metadata.to_string());
    }
    files
}

fn chosen(operators: &[&str]) -> Vec<(&'static Operator, &'static Package)> {
    let mut found: Vec<_> = operators.iter().filter_map(|name| find(name)).collect();
    found.sort_by_key(|(operator, _)| operator.name);
    found
}

fn find(name: &str) -> Option<(&'static Operator, &'static Package)> {
    let operator = catalogue::find(name)?;
    let package = PACKAGES.iter().find(|package| package.operator == operator.name)?;
    Some((operator, package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_a_package() {
        let known: Vec<_> = PACKAGES.iter().map(|package| package.operator).collect();
        let operators: Vec<_> = catalogue::OLM.iter().map(|operator| operator.name).collect();
        assert_eq!(known, operators);
        for package in PACKAGES.iter().filter(|package| !package.objects.is_empty()) {
            for document in serde_yaml_ng::Deserializer::from_str(package.objects) {
                let object: Value = Deserialize::deserialize(document).unwrap();
                let operator = catalogue::find(package.operator).unwrap();
                for member in ["/apiVersion", "/kind", "/metadata/name"] {
                    assert!(
                        object.pointer(member).is_some_and(Value::is_string),
                        "{}: {member}",
                        operator.name
                    );
                }
            }
        }
    }

    #[test]
    fn a_namespace_has_one_group() {
        let names = |operators: &[&str]| {
            manifests(operators, "4.22.9").into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&["self-node-remediation", "node-healthcheck", "pipelines"]),
            [
                "50_node-healthcheck_ns.yaml",
                "50_node-healthcheck_operatorgroup.yaml",
                "50_node-healthcheck_subscription.yaml",
                "50_pipelines_subscription.yaml",
                "50_self-node-remediation_subscription.yaml",
            ]
        );
        let all = manifests(&["lvm", "cnv"], "4.11.3");
        let of = |name: &str| &all.iter().find(|(known, _)| known == name).unwrap().1;
        assert_eq!(of("50_lvm_subscription.yaml")["metadata"]["name"], "odf-lvm-operator");
        assert_eq!(of("50_cnv_subscription.yaml")["spec"]["name"], "kubevirt-hyperconverged");
        assert_eq!(of("50_lvm_operatorgroup.yaml")["spec"]["targetNamespaces"], json!(["openshift-storage"]));
        assert_eq!(objects(&["lso", "lvm"]).len(), 1);
    }

    #[test]
    fn a_service_for_further_clusters_needs_storage() {
        let names = |operators: &[&'static str]| {
            objects(operators).into_iter().map(|objects| objects.operator).collect::<Vec<_>>()
        };
        assert_eq!(names(&["mce"]), ["mce"]);
        assert_eq!(names(&["lvm"]), ["lvm"]);
        assert_eq!(names(&["lvm", "mce"]), ["lvm", "mce", "lvm"]);
        let best = objects(&["lvm", "mce", "odf"]).pop().unwrap();
        assert_eq!(best.operator, "odf");
        let object: Value = serde_yaml_ng::from_str(&best.yaml).unwrap();
        assert_eq!(object["spec"]["imageStorage"]["storageClassName"], "ocs-storagecluster-cephfs");
    }

    #[test]
    fn files_for_a_cluster_without_service() {
        let files = objects_in_cluster(&["lso", "lvm", "mce"], "4.20.1");
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["lvm-01.yaml", "lvm-02.yaml", "lvm.metadata.yaml", "mce-01.yaml", "mce.metadata.yaml"]
        );
        let metadata: Value = serde_yaml_ng::from_str(&files["lvm.metadata.yaml"]).unwrap();
        let expected = json!({
            "namespace": "openshift-storage", "subscriptionName": "lvms-operator",
            "manifests": ["lvm-01.yaml", "lvm-02.yaml"],
        });
        assert_eq!(metadata, expected);
        let second: Value =
            serde_yaml_ng::from_slice(&STANDARD.decode(&files["lvm-02.yaml"]).unwrap()).unwrap();
        assert_eq!(second["kind"], "AgentServiceConfig");
        assert!(objects_in_cluster(&["lso"], "4.20.1").is_empty());
    }
}
