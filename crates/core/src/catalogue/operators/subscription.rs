//! What brings operators into a cluster: namespaces, groups, subscriptions; and the objects that make them do their work once
//! they are there (operators §2.2, §3).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::definition::{Group, Namespace, Operator, Scope, Subscribed};
use super::view::ClusterView;
use super::{find, is_selected};

/// Operators that bring storage, the best first, and the class that others take it by.
const STORAGE_CLASSES: [(&str, &str); 2] = [("odf", "ocs-storagecluster-cephfs"), ("lvm", "lvms-vg1")];

/// How a cluster subscribes to an operator.
fn subscribed(operator: &Operator, view: &ClusterView<'_>) -> Subscribed {
    operator.subscribed(&view.cluster.openshift_version, view.policy())
}

/// The operators of a cluster, in the order of its list.
fn selected(view: &ClusterView<'_>) -> Vec<&'static Operator> {
    let rows = view.cluster.monitored_operators.iter().flatten();
    rows.filter_map(|row| find(&row.name))
        .filter(|operator| is_selected(view.cluster, operator.name))
        .collect()
}

/// Manifests that are installed with a cluster, by the names of their files, sorted.
pub fn manifests(view: &ClusterView<'_>) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for operator in selected(view) {
        let subscribed = subscribed(operator, view);
        let package = &subscribed.package;
        let file = |end: &str| format!("{}{end}.yaml", package.files);
        let [namespace_file, group_file, subscription_file] = package.file_names.of().map(file);
        all.extend(package.namespace.map(|kind| (namespace_file, namespace(subscribed.namespace, kind))));
        all.extend(package.group.map(|own| (group_file, group(own, subscribed.namespace))));
        all.push((subscription_file, subscription(&subscribed)));
        let further = operator.behaviour.manifests(view);
        all.extend(further.into_iter().map(|(end, object)| (file(end), object)));
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

fn namespace(name: &str, kind: Namespace) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    if kind == Namespace::Monitored {
        object["metadata"]["labels"] = json!({"openshift.io/cluster-monitoring": "true"});
    }
    object
}

fn group(group: Group, namespace: &str) -> Value {
    let mut spec = json!({});
    if group.scope == Scope::Own {
        spec["targetNamespaces"] = json!([namespace]);
    }
    if group.says_strategy {
        spec["upgradeStrategy"] = json!("Default");
    }
    let mut metadata = json!({"name": group.name, "namespace": namespace});
    if !group.provided_apis.is_empty() {
        metadata["annotations"] = json!({"olm.providedAPIs": group.provided_apis});
    }
    json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": metadata, "spec": spec,
    })
}

fn subscription(subscribed: &Subscribed) -> Value {
    let Subscribed { name, namespace, package } = subscribed;
    let mut spec = json!({
        "name": subscribed.package(),
        "source": package.source, "sourceNamespace": "openshift-marketplace",
    });
    if let Some(channel) = package.channel {
        spec["channel"] = json!(channel);
    }
    if package.says_automatic {
        spec["installPlanApproval"] = json!("Automatic");
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}

/// Objects that are applied once an operator is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Objects {
    /// The operator's name.
    pub operator: &'static str,
    /// In the order in which they are applied; never empty.
    pub documents: Vec<Value>,
}

impl Objects {
    /// All objects as one text of YAML, which JSON is.
    pub fn yaml(&self) -> String {
        let documents: Vec<_> =
            self.documents.iter().map(|document| format!("---\n{document:#}\n")).collect();
        documents.concat()
    }
}

/// The objects that the operators of a cluster need once they are there; operators that need none are left out.
pub fn objects(view: &ClusterView<'_>) -> Vec<Objects> {
    let own = selected(view)
        .into_iter()
        .map(|operator| Objects { operator: operator.name, documents: operator.behaviour.objects(view) });
    own.filter(|objects| !objects.documents.is_empty()).chain(assisted_service(view)).collect()
}

/// Where the multicluster engine has storage, it gets a service that installs further clusters; it needs the storage, so it
/// comes with the operator of that.
fn assisted_service(view: &ClusterView<'_>) -> Option<Objects> {
    let is_selected = |name: &str| is_selected(view.cluster, name);
    if !is_selected("mce") {
        return None;
    }
    let (operator, class) = STORAGE_CLASSES.into_iter().find(|(name, _)| is_selected(name))?;
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
    Some(Objects { operator, documents: vec![object] })
}

/// The objects that operators need, as the cluster's own controller reads them when there is no service to ask: files by their
/// names, one for each document and one that tells of them.
pub fn objects_in_cluster(view: &ClusterView<'_>) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Objects { operator, documents } in objects(view) {
        for document in documents {
            let names = names.entry(operator).or_default();
            let name = format!("{operator}-{:02}.yaml", names.len() + 1);
            files.insert(name.clone(), STANDARD.encode(document.to_string()));
            names.push(name);
        }
    }
    for (operator, manifests) in names {
        let Some(operator) = find(operator) else { continue };
        let Subscribed { name, namespace, .. } = subscribed(operator, view);
        let metadata = json!({"namespace": namespace, "subscriptionName": name, "manifests": manifests});
        files.insert(format!("{}.metadata.yaml", operator.name), metadata.to_string());
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::facts::Facts;
    use crate::validation::testing::facts;

    fn with(operators: &[&str]) -> Facts {
        let mut facts = facts(3).with_operators(operators);
        "4.20.1".clone_into(&mut facts.test_cluster().openshift_version);
        facts
    }

    #[test]
    fn those_that_share_a_namespace_bring_no_second_group() {
        let facts = with(&["self-node-remediation", "node-healthcheck", "pipelines"]);
        let all = manifests(&ClusterView::of(&facts).unwrap());
        let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "50_node_healthcheck_namespace.yaml",
                "50_node_healthcheck_operatorgroup.yaml",
                "50_node_healthcheck_subscription.yaml",
                "50_pipelines_subscription.yaml",
                "50_self_node_remediation_subscription.yaml",
            ]
        );
    }

    #[test]
    fn a_service_for_further_clusters_needs_storage() {
        let of = |operators: &[&str]| objects(&ClusterView::of(&with(operators)).unwrap());
        let names =
            |operators: &[&str]| of(operators).iter().map(|objects| objects.operator).collect::<Vec<_>>();
        assert_eq!(names(&["mce"]), ["mce"]);
        assert_eq!(names(&["lvm"]), ["lvm"]);
        assert_eq!(names(&["lvm", "mce"]), ["lvm", "mce", "lvm"]);
        let best = of(&["lvm", "mce", "odf"]).pop().unwrap();
        assert_eq!(best.operator, "odf");
        let object = &best.documents[0];
        assert_eq!(object["spec"]["imageStorage"]["storageClassName"], "ocs-storagecluster-cephfs");
        assert!(names(&["loki", "pipelines"]).is_empty());
    }

    #[test]
    fn files_for_a_cluster_without_service() {
        let facts = with(&["loki", "lvm", "mce"]);
        let files = objects_in_cluster(&ClusterView::of(&facts).unwrap());
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["lvm-01.yaml", "lvm-02.yaml", "lvm.metadata.yaml", "mce-01.yaml", "mce.metadata.yaml"]
        );
        let metadata: Value = serde_json::from_str(&files["lvm.metadata.yaml"]).unwrap();
        let expected = json!({
            "namespace": "openshift-storage", "subscriptionName": "lvms-operator",
            "manifests": ["lvm-01.yaml", "lvm-02.yaml"],
        });
        assert_eq!(metadata, expected);
        let second: Value = serde_json::from_slice(&STANDARD.decode(&files["lvm-02.yaml"]).unwrap()).unwrap();
        assert_eq!(second["kind"], "AgentServiceConfig");
    }
}
