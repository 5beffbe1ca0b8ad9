//! What the service may do, with its hub controllers: of what the published one may (kube-api §13), what its requests need.

use super::{Role, cluster, namespaced};

const WATCH: &[&str] = &["list", "watch"];
/// A write is a merge patch, also of a status.
const KEEP: &[&str] = &["list", "watch", "patch"];
const PATCH: &[&str] = &["patch"];

/// Rights of the service.
pub const ROLE: Role = Role {
    name: "assisted-service",
    account: "assisted-service",
    accesses: &[
        cluster(
            "hosts: each that registers gets an Agent, which goes with its cluster or its machine",
            "agent-install.openshift.io",
            &["agents"],
            &["list", "watch", "create", "patch", "delete"],
        ),
        cluster(
            "what they boot and how they are told apart",
            "agent-install.openshift.io",
            &["agentclassifications", "infraenvs"],
            KEEP,
        ),
        cluster("their networks", "agent-install.openshift.io", &["nmstateconfigs"], WATCH),
        cluster(
            "what became of them",
            "agent-install.openshift.io",
            &["agents/status", "agentclassifications/status", "infraenvs/status"],
            PATCH,
        ),
        cluster(
            "installations, which go with their ClusterDeployment",
            "extensions.hive.openshift.io",
            &["agentclusterinstalls"],
            &["list", "watch", "patch", "delete"],
        ),
        cluster("how far they are", "extensions.hive.openshift.io", &["agentclusterinstalls/status"], PATCH),
        cluster("clusters", "hive.openshift.io", &["clusterdeployments"], KEEP),
        cluster(
            "that credentials of a cluster go with it, and it not before them: where OwnerReferencesPermissionEnforcement is on",
            "hive.openshift.io",
            &["clusterdeployments/finalizers"],
            &["update"],
        ),
        cluster("releases", "hive.openshift.io", &["clusterimagesets"], WATCH),
        cluster(
            "machines under metal3",
            "metal3.io",
            &["baremetalhosts"],
            &["get", "list", "watch", "patch"],
        ),
        cluster("their images", "metal3.io", &["preprovisioningimages"], KEEP),
        cluster("where they are", "metal3.io", &["preprovisioningimages/status"], PATCH),
        cluster("where metal3 is reached", "metal3.io", &["provisionings"], &["get"])
            .named(&["provisioning-configuration"]),
        cluster("which node metal3 runs on", "", &["pods"], &["list"]),
        cluster(
            "credentials of registries, machines and clusters that are installed",
            "",
            &["secrets"],
            &["get", "list", "watch", "create", "patch"],
        ),
        cluster(
            "that credentials that are there already get their cluster as an owner: where OwnerReferencesPermissionEnforcement \
             is on, who may not delete a thing may not change its owners either",
            "",
            &["secrets"],
            &["delete"],
        ),
        cluster("manifests, mirrors of registries", "", &["configmaps"], &["get", "list", "watch", "patch"]),
        cluster("whether metal3 is there", "apiextensions.k8s.io", &["customresourcedefinitions"], &["get"])
            .named(&["baremetalhosts.metal3.io", "preprovisioningimages.metal3.io"]),
        cluster(
            "whether it can have machines installed",
            "config.openshift.io",
            &["clusteroperators"],
            &["get"],
        )
        .named(&["baremetal"]),
        cluster("which release the hub is", "config.openshift.io", &["clusterversions"], &["get"])
            .named(&["version"]),
        namespaced("who leads", "coordination.k8s.io", &["leases"], &["get", "create", "update"]),
    ],
};
