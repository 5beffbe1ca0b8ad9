//! What the operator may do at the API.

use super::INGRESS_AUTHORITIES;
use crate::rbac::{Role, cluster, cluster_named, namespaced};

const READ: &[&str] = &["get", "list", "watch"];

/// By server-side apply an object is made and changed: `create` and `patch`.
const OWN: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
/// What holds data or keys is never deleted.
const KEEP: &[&str] = &["get", "list", "watch", "create", "patch"];

/// Rights of the operator.
pub const ROLE: Role = Role {
    name: "assisted-operator",
    account: "assisted-operator",
    accesses: &[
        cluster(
            "what is to run",
            "agent-install.openshift.io",
            &["agentserviceconfigs"],
            &["get", "list", "watch", "patch"],
        ),
        cluster(
            "how it is, and that objects may be owned by it",
            "agent-install.openshift.io",
            &["agentserviceconfigs/status", "agentserviceconfigs/finalizers"],
            &["get", "patch", "update"],
        ),
        cluster("what is told about it", "events.k8s.io", &["events"], &["create", "patch"]),
        cluster("whether a kind is there", "apiextensions.k8s.io", &["customresourcedefinitions"], &["get"]),
        cluster(
            "which clusters the hub manages",
            "cluster.open-cluster-management.io",
            &["managedclusters"],
            READ,
        ),
        cluster(
            "what the hub itself is, to be taken in as a cluster",
            "config.openshift.io",
            &["clusterversions", "dnses", "proxies"],
            &["get"],
        ),
        cluster("how many nodes its control plane has", "", &["nodes"], &["list"]),
        cluster_named("its kubeconfig", "", &["secrets"], &["node-kubeconfigs"], &["get"]),
        cluster_named("its registry credentials", "", &["secrets"], &["pull-secret"], &["get"]),
        cluster("the same for who takes it in", "", &["secrets"], &["create", "patch"]),
        cluster_named("which go with it", "", &["secrets"], &["local-cluster-admin-kubeconfig"], &["delete"]),
        cluster_named("which go with it, too", "", &["secrets"], &["pull-secret"], &["delete"]),
        cluster("its release", "hive.openshift.io", &["clusterimagesets"], &["create", "patch"]),
        cluster("that it is a cluster", "hive.openshift.io", &["clusterdeployments"], OWN),
        cluster("which was installed", "extensions.hive.openshift.io", &["agentclusterinstalls"], OWN),
        cluster("and takes in hosts", "agent-install.openshift.io", &["infraenvs"], OWN),
        cluster("which TLS the cluster speaks", "config.openshift.io", &["apiservers"], &["get"]),
        cluster_named(
            "which authorities the default ingress has",
            "",
            &["configmaps"],
            &[INGRESS_AUTHORITIES],
            READ,
        ),
        cluster(
            "configurations of the webhooks",
            "admissionregistration.k8s.io",
            &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            OWN,
        ),
        namespaced("volumes, keys and certificates", "", &["persistentvolumeclaims", "secrets"], KEEP),
        namespaced(
            "services, their settings and accounts",
            "",
            &["configmaps", "services", "serviceaccounts"],
            OWN,
        ),
        namespaced("how its own pod runs", "", &["pods"], &["get"]),
        namespaced("what runs", "apps", &["deployments", "statefulsets"], OWN),
        namespaced("who reaches it", "networking.k8s.io", &["ingresses", "networkpolicies"], OWN),
        namespaced(
            "routes of OpenShift, and their hosts",
            "route.openshift.io",
            &["routes", "routes/custom-host"],
            OWN,
        ),
        namespaced("where metrics are read", "monitoring.coreos.com", &["servicemonitors"], OWN),
        namespaced("who leads", "coordination.k8s.io", &["leases"], &["get", "create", "update"]),
    ],
};
