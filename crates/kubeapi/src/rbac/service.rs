//! What the service may do, with its hub controllers (kube-api §13).

use super::{Role, cluster, namespaced};

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
const KEEP: &[&str] = &["get", "list", "watch", "update", "patch"];

/// Rights of the service.
pub const ROLE: Role = Role {
    name: "assisted-service",
    account: "assisted-service",
    accesses: &[
        cluster(
            "hosts, what they boot and how they are told apart",
            "agent-install.openshift.io",
            &["agents", "agentclassifications", "infraenvs", "nmstateconfigs"],
            WRITE,
        ),
        cluster(
            "their status and finalizers",
            "agent-install.openshift.io",
            &[
                "agents/status",
                "agents/finalizers",
                "agents/ai-deprovision",
                "agentclassifications/status",
                "agentclassifications/finalizers",
                "infraenvs/status",
                "infraenvs/finalizers",
            ],
            &["get", "update", "patch"],
        ),
        cluster("installations", "extensions.hive.openshift.io", &["agentclusterinstalls"], WRITE),
        cluster(
            "their status and finalizers",
            "extensions.hive.openshift.io",
            &["agentclusterinstalls/status", "agentclusterinstalls/finalizers"],
            &["get", "update", "patch"],
        ),
        cluster(
            "clusters, and their metadata once they are installed",
            "hive.openshift.io",
            &["clusterdeployments"],
            WRITE,
        ),
        cluster(
            "their status and finalizers",
            "hive.openshift.io",
            &["clusterdeployments/status", "clusterdeployments/finalizers"],
            &["get", "update", "patch"],
        ),
        cluster("releases", "hive.openshift.io", &["clusterimagesets"], READ),
        cluster("machines under metal3", "metal3.io", &["baremetalhosts"], KEEP),
        cluster(
            "their images",
            "metal3.io",
            &["preprovisioningimages", "preprovisioningimages/status"],
            &["get", "list", "watch", "create", "update", "patch", "delete"],
        ),
        cluster("where metal3 is reached", "metal3.io", &["provisionings"], &["get"]),
        cluster("which node metal3 runs on", "", &["pods"], &["list"]),
        cluster("credentials of registries and of clusters that are installed", "", &["secrets"], WRITE),
        cluster("manifests, mirrors of registries", "", &["configmaps"], KEEP),
        cluster("what happened to an object", "", &["events"], &["create", "patch"]),
        cluster("whether a kind is there", "apiextensions.k8s.io", &["customresourcedefinitions"], READ),
        cluster(
            "what the hub itself is",
            "config.openshift.io",
            &["clusteroperators", "clusterversions", "infrastructures", "proxies"],
            READ,
        ),
        cluster(
            "ClusterDeployments that join a set of clusters",
            "cluster.open-cluster-management.io",
            &["managedclustersets/join"],
            &["create"],
        ),
        namespaced(
            "who leads",
            "coordination.k8s.io",
            &["leases"],
            &["get", "list", "watch", "create", "update", "patch"],
        ),
    ],
};
