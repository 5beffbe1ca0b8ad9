//! Jobs that set something up in the new cluster once its storage is there (operators §3.4). A job is installed with the
//! cluster, and waits for the storage by itself; the cluster's controller waits for the job, which it finds by its label.
//!
//! The replaced service makes these jobs whether or not anything brings the storage, and they wait for ever. Here a job is made
//! if one of the cluster's operators brings it, and it has a deadline.

use serde_json::{Value, json};

use super::view::ClusterView;

/// Label of setup jobs; its value is the operator's name.
const LABEL: &str = "agent-install.openshift.io/setup-job";

/// Name of the job, and of the account that it runs under.
const SETUP: &str = "setup";

/// After so many seconds a job has failed: the slowest operator may take 70 minutes, and its storage comes after it.
const DEADLINE_SECONDS: u32 = 3 * 60 * 60;

/// What a setup job does, and what it may do for that.
pub(super) struct Setup<'a> {
    pub operator: &'static str,
    pub namespace: &'static str,
    /// Rules of the job's role: group, resources, verbs.
    pub rules: &'a [(&'static str, &'a [&'static str], &'a [&'static str])],
    /// Script of the job, with the variables before it.
    pub script: String,
}

impl Setup<'_> {
    /// The job, its account, and the role of that; each with the end of its file's name.
    pub(super) fn objects(&self, view: &ClusterView<'_>) -> Vec<(&'static str, Value)> {
        let Self { operator, namespace, .. } = self;
        let role = format!("{namespace}-{SETUP}");
        let rule = |(group, resources, verbs): &(&str, &[&str], &[&str])| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        let rules: Vec<_> = self.rules.iter().map(rule).collect();
        vec![
            (
                "setup_serviceaccount",
                json!({
                    "apiVersion": "v1", "kind": "ServiceAccount",
                    "metadata": {"name": SETUP, "namespace": namespace},
                }),
            ),
            (
                "setup_clusterrole",
                json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                    "metadata": {"name": role}, "rules": rules,
                }),
            ),
            (
                "setup_clusterrolebinding",
                json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                    "metadata": {"name": role},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                    "subjects": [{"kind": "ServiceAccount", "name": SETUP, "namespace": namespace}],
                }),
            ),
            (
                "setup_job",
                json!({
                    "apiVersion": "batch/v1", "kind": "Job",
                    "metadata": {"name": SETUP, "namespace": namespace, "labels": {LABEL: operator}},
                    "spec": {
                        "activeDeadlineSeconds": DEADLINE_SECONDS,
                        "template": {"spec": {
                            "serviceAccountName": SETUP, "restartPolicy": "Never",
                            "containers": [{
                                "name": SETUP, "image": view.facts.policy.images.controller,
                                "command": ["/usr/bin/bash", "-ex", "-c", self.script],
                            }],
                        }},
                    },
                }),
            ),
        ]
    }
}
