//! Rights of the process that serves the admission webhooks.

use super::NAME;
use crate::rbac::{Role, cluster, namespaced};

/// Rights of a process that answers, and keeps its own certificate. With certificate files it needs the first one alone.
pub const ROLE: Role = Role {
    name: "system:openshift:assisted-installer:agentinstalladmission",
    account: NAME,
    accesses: &[
        cluster("whether a cluster is installed", "hive.openshift.io", &["clusterdeployments"], &["get"]),
        cluster(
            "its configurations",
            "admissionregistration.k8s.io",
            &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            &["get", "list", "watch", "create", "patch"],
        ),
        namespaced("its certificate", "", &["secrets"], &["get", "list", "watch", "update"]).named(&[NAME]),
        namespaced("that it can make one", "", &["secrets"], &["create"]),
    ],
};
