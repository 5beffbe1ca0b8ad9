//! What the operator may do at the API.

use super::{ACM, INGRESS_AUTHORITIES, MCE};
use crate::rbac::{Access, Role, cluster, namespaced};
use crate::webhook_server::profile;

const READ: &[&str] = &["get", "list", "watch"];

/// By server-side apply an object is made and changed: `create` and `patch`.
const OWN: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
/// What holds data or keys is never deleted.
const KEEP: &[&str] = &["get", "list", "watch", "create", "patch"];

const VOLUMES_AND_KEYS: Access =
    namespaced("volumes, keys and certificates", "", &["persistentvolumeclaims", "secrets"], KEEP);
const SETTINGS: Access = namespaced(
    "services, their settings and accounts",
    "",
    &["configmaps", "services", "serviceaccounts"],
    OWN,
);
const OWN_POD: Access = namespaced("how its own pod runs", "", &["pods"], &["get"]);
const WORKLOADS: Access = namespaced("what runs", "apps", &["deployments", "statefulsets"], OWN);
const NETWORK: Access =
    namespaced("who reaches it", "networking.k8s.io", &["ingresses", "networkpolicies"], OWN);
const ROUTES: Access = namespaced(
    "routes of OpenShift, and their hosts",
    "route.openshift.io",
    &["routes", "routes/custom-host"],
    OWN,
);
const MONITORS: Access =
    namespaced("where metrics are read", "monitoring.coreos.com", &["servicemonitors"], OWN);

/// What it may do in the namespace of a hosted control plane: who makes a HypershiftAgentServiceConfig there gives it the role there.
/// A right in all namespaces would be one to all Secrets of the hub.
pub const HOSTED: Role = Role {
    name: "assisted-operator",
    account: "assisted-operator",
    accesses: &[VOLUMES_AND_KEYS, SETTINGS, WORKLOADS, NETWORK, ROUTES, MONITORS],
};

/// The Secrets by which the hub's own cluster is taken in, where they are read and where they are made, and no others: the namespace
/// has the usual name of the ManagedCluster that is the hub, and is there before the role is.
pub const LOCAL_CLUSTER: Role = Role {
    name: "assisted-operator-local-cluster",
    account: "assisted-operator",
    accesses: &[
        namespaced("the kubeconfig of the hub", "", &["secrets"], &["get"])
            .within("openshift-kube-apiserver")
            .named(&["node-kubeconfigs"]),
        namespaced("its registry credentials", "", &["secrets"], &["get"])
            .within("openshift-config")
            .named(&["pull-secret"]),
        namespaced(
            "the same for who takes it in, as long as it is",
            "",
            &["secrets"],
            &["create", "patch", "delete"],
        )
        .within("local-cluster")
        .named(&["local-cluster-admin-kubeconfig", "pull-secret"]),
    ],
};

/// Rights of the operator.
pub const ROLE: Role = Role {
    name: "assisted-operator",
    account: "assisted-operator",
    accesses: &[
        cluster(
            "what is to run",
            "agent-install.openshift.io",
            &["agentserviceconfigs", "hypershiftagentserviceconfigs"],
            &["get", "list", "watch", "patch"],
        ),
        cluster(
            "how it is, and that objects may be owned by it",
            "agent-install.openshift.io",
            &[
                "agentserviceconfigs/status",
                "agentserviceconfigs/finalizers",
                "hypershiftagentserviceconfigs/status",
                "hypershiftagentserviceconfigs/finalizers",
            ],
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
        cluster("its release", "hive.openshift.io", &["clusterimagesets"], &["create", "patch"]),
        cluster("that it is a cluster", "hive.openshift.io", &["clusterdeployments"], OWN),
        cluster("which was installed", "extensions.hive.openshift.io", &["agentclusterinstalls"], OWN),
        cluster("and takes in hosts", "agent-install.openshift.io", &["infraenvs"], OWN),
        cluster("which TLS the cluster speaks", "config.openshift.io", &["apiservers"], READ)
            .named(&[profile::NAME]),
        cluster("which authorities the default ingress has", "", &["configmaps"], READ)
            .named(&[INGRESS_AUTHORITIES]),
        cluster("which operator brings it, in which version", "apps", &["deployments"], &["get"])
            .named(&[ACM, MCE]),
        cluster(
            "configurations of the webhooks",
            "admissionregistration.k8s.io",
            &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            OWN,
        ),
        VOLUMES_AND_KEYS,
        SETTINGS,
        OWN_POD,
        WORKLOADS,
        NETWORK,
        ROUTES,
        MONITORS,
        namespaced("who leads", "coordination.k8s.io", &["leases"], &["get", "create", "update"]),
    ],
};
