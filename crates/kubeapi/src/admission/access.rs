//! What the webhooks may do at the API.

use super::NAME;
use crate::rbac::{Role, cluster, namespaced, namespaced_named};

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
        namespaced_named("its certificate", "", &["secrets"], &[NAME], &["get", "list", "watch", "update"]),
        namespaced("that it can make one", "", &["secrets"], &["create"]),
    ],
};
