//! Rules on InfraEnvs (kube-api §5.2).

use assisted_kubeapi::admission::Verdict;
use serde_json::{Value, json};

use super::{created, denial, updated};

const WEBHOOK: &str = "infraenvvalidators";

fn infra_env(spec: &Value) -> Value {
    json!({"metadata": {"name": "example", "namespace": "site"}, "spec": spec})
}

#[test]
fn a_new_one_names_a_cluster_or_a_version() {
    let cluster = json!({"name": "a", "namespace": "b"});
    for (spec, is_denied) in [
        (json!({}), false),
        (json!({"clusterRef": cluster}), false),
        (json!({"osImageVersion": "4.20"}), false),
        (json!({"clusterRef": cluster, "osImageVersion": ""}), false),
        (json!({"clusterRef": cluster, "osImageVersion": "4.20"}), true),
    ] {
        let expected = (400, "Either Spec.ClusterRef or Spec.OSImageVersion should be specified (not both).");
        assert_eq!(denial(&created(WEBHOOK, &infra_env(&spec))), is_denied.then_some(expected), "{spec}");
    }
}

#[test]
fn its_cluster_and_its_architecture_stay() {
    const CLUSTER: &str = "Attempted to change Spec.ClusterRef which is immutable after InfraEnv creation.";
    const ARCHITECTURE: &str =
        "Attempted to change Spec.CpuArchitecture which is immutable after InfraEnv creation.";
    let cluster = |name: &str, namespace: &str| json!({"clusterRef": {"name": name, "namespace": namespace}});
    let architecture = |text: &str| json!({"cpuArchitecture": text});
    for (old, new, expected) in [
        (cluster("a", "b"), cluster("a", "b"), None),
        (json!({}), cluster("a", "b"), Some(CLUSTER)),
        (cluster("a", "b"), json!({}), Some(CLUSTER)),
        (cluster("a", "b"), cluster("c", "b"), Some(CLUSTER)),
        (cluster("a", "b"), cluster("a", "c"), Some(CLUSTER)),
        (json!({}), architecture("x86_64"), None),
        (architecture("x86_64"), architecture(""), None),
        (json!({}), architecture("arm64"), Some(ARCHITECTURE)),
        (architecture("arm64"), architecture("aarch64"), Some(ARCHITECTURE)),
        (json!({"sshAuthorizedKey": "a"}), json!({"sshAuthorizedKey": "b"}), None),
    ] {
        let verdict = updated(WEBHOOK, &infra_env(&old), &infra_env(&new));
        assert_eq!(denial(&verdict), expected.map(|text| (400, text)), "{old} {new}");
    }
}

#[test]
fn a_version_joins_a_cluster_that_is_installed() {
    let spec =
        |version: &str| json!({"clusterRef": {"name": "a", "namespace": "b"}, "osImageVersion": version});
    let verdict = updated(WEBHOOK, &infra_env(&spec("")), &infra_env(&spec("4.20")));
    let Verdict::DeniedUnlessInstalled { cluster, denial } = verdict else { panic!("{verdict:?}") };
    assert_eq!((cluster.name.as_str(), cluster.namespace.as_str()), ("a", "b"));
    assert_eq!(
        (denial.reason.code(), denial.message.as_str()),
        (
            400,
            "spec.OSImageVersion is not valid. It can't be added alongside with a clusterRef when the cluster is not \
             installed yet."
        )
    );
    // One that was there may change.
    let verdict = updated(WEBHOOK, &infra_env(&spec("4.19")), &infra_env(&spec("4.20")));
    assert_eq!(verdict, Verdict::Allowed);
    let free = |version: &str| infra_env(&json!({"osImageVersion": version}));
    assert_eq!(updated(WEBHOOK, &free(""), &free("4.20")), Verdict::Allowed);
}
