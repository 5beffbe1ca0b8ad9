//! What each provider may do at an API server (capi-providers §18).

use assisted_kubeapi::rbac::{Access, Role, cluster, namespaced};

use crate::webhook;

const READ: &[&str] = &["get", "list", "watch"];
const KEEP: &[&str] = &["get", "list", "watch", "update", "patch"];
const STATUS: &[&str] = &["get", "update", "patch"];

/// The first of the rights that webhooks need: to have the API server ask them.
const fn converted(webhooks: &'static webhook::Webhooks) -> Access {
    cluster(
        "kinds whose objects it converts",
        "apiextensions.k8s.io",
        &["customresourcedefinitions"],
        &["get", "list", "watch", "patch"],
    )
    .named(webhooks.definitions)
}

const fn configured(names: &'static [&'static str]) -> Access {
    cluster(
        "its webhooks",
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        &["get", "list", "watch", "patch"],
    )
    .named(names)
}

const CONFIGURABLE: Access = cluster(
    "that it can make them",
    "admissionregistration.k8s.io",
    &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    &["create"],
);

const fn certified(names: &'static [&'static str]) -> Access {
    namespaced("their certificate", "", &["secrets"], &["get", "list", "watch", "update"]).named(names)
}

const CERTIFIABLE: Access = namespaced("that it can make one", "", &["secrets"], &["create"]);

const TLS: Access = cluster(
    "which TLS the cluster speaks",
    "config.openshift.io",
    &["apiservers"],
    &["get", "list", "watch"],
)
.named(&["cluster"]);

/// What the bootstrap provider may do: with the kinds of a hub, or with a service alone.
macro_rules! bootstrap {
    ($($hub:tt)*) => {
        &[
            cluster("how machines boot", "bootstrap.cluster.x-k8s.io", &["openshiftassistedconfigs"], KEEP),
            cluster(
                "their status and finalizers",
                "bootstrap.cluster.x-k8s.io",
                &["openshiftassistedconfigs/status", "openshiftassistedconfigs/finalizers"],
                STATUS,
            ),
            cluster("machines and their clusters", "cluster.x-k8s.io", &["clusters", "machines"], READ),
            cluster(
                "which live ISO machines boot",
                "infrastructure.cluster.x-k8s.io",
                &["metal3machines", "metal3machinetemplates"],
                &["get", "patch"],
            ),
            cluster("which hardware a machine is", "metal3.io", &["baremetalhosts"], &["get"]),
            $($hub)*
            cluster("bootstrap data, and an authority that is trusted", "", &["secrets"], &["get", "create"]),
            cluster("an authority that is trusted", "", &["configmaps"], &["get"]),
            namespaced("who leads", "coordination.k8s.io", &["leases"], &["get", "create", "update"]),
            converted(&webhook::BOOTSTRAP),
            configured(&[webhook::BOOTSTRAP.name]),
            CONFIGURABLE,
            certified(&[webhook::BOOTSTRAP.name]),
            CERTIFIABLE,
            TLS,
        ]
    };
}

/// A role and its account have one name.
const fn role(name: &'static str, accesses: &'static [Access]) -> Role {
    Role { name, account: name, accesses }
}

const BOOTSTRAP_NAME: &str = "assisted-capi-bootstrap";
const CONTROL_PLANE_NAME: &str = "assisted-capi-control-plane";

/// Rights of the bootstrap provider.
pub const BOOTSTRAP: Role = role(
    BOOTSTRAP_NAME,
    bootstrap!(
        cluster(
            "infra-envs of machines",
            "agent-install.openshift.io",
            &["infraenvs"],
            &["get", "list", "watch", "create", "delete"],
        ),
        cluster(
            "hosts of machines",
            "agent-install.openshift.io",
            &["agents"],
            &["get", "list", "watch", "patch", "delete"],
        ),
        cluster(
            "how far an installation is",
            "extensions.hive.openshift.io",
            &["agentclusterinstalls"],
            READ,
        ),
        cluster("which cluster is installed", "hive.openshift.io", &["clusterdeployments"], READ),
    ),
);

/// The same with a service alone: none of the kinds of a hub.
pub const BOOTSTRAP_OF_SERVICE: Role = role(BOOTSTRAP_NAME, bootstrap!());

/// What the control-plane provider may do, likewise.
macro_rules! control_plane {
    ($($hub:tt)*) => {
        &[
            cluster("control planes", "controlplane.cluster.x-k8s.io", &["openshiftassistedcontrolplanes"], KEEP),
            cluster(
                "their status and finalizers",
                "controlplane.cluster.x-k8s.io",
                &["openshiftassistedcontrolplanes/status", "openshiftassistedcontrolplanes/finalizers"],
                STATUS,
            ),
            cluster(
                "clusters, and how many machines they have",
                "cluster.x-k8s.io",
                &["clusters", "machinedeployments"],
                READ,
            ),
            cluster(
                "machines of control planes",
                "cluster.x-k8s.io",
                &["machines"],
                &["get", "list", "watch", "create", "delete"],
            ),
            cluster("whether they are up to date", "cluster.x-k8s.io", &["machines/status"], &["get", "patch"]),
            cluster(
                "how machines boot",
                "bootstrap.cluster.x-k8s.io",
                &["openshiftassistedconfigs"],
                &["get", "list", "watch", "create", "delete"],
            ),
            cluster(
                "what machines of the infrastructure are made from",
                "infrastructure.cluster.x-k8s.io",
                &["metal3machinetemplates"],
                &["get", "patch"],
            ),
            cluster(
                "machines of the infrastructure",
                "infrastructure.cluster.x-k8s.io",
                &["metal3machines"],
                &["list", "create", "delete"],
            ),
            cluster(
                "which version of a kind fits Cluster API",
                "apiextensions.k8s.io",
                &["customresourcedefinitions"],
                &["get"],
            ),
            $($hub)*
            cluster("registry credentials, and kubeconfigs", "", &["secrets"], &["get", "create", "patch"]),
            cluster("mirrors of registries", "", &["configmaps"], &["get", "create", "patch"]),
            namespaced("who leads", "coordination.k8s.io", &["leases"], &["get", "create", "update"]),
            converted(&webhook::CONTROL_PLANE),
            configured(&[webhook::CONTROL_PLANE.name]),
            CONFIGURABLE,
            certified(&[webhook::CONTROL_PLANE.name]),
            CERTIFIABLE,
            TLS,
        ]
    };
}

/// Rights of the control-plane provider. Machines of another infrastructure than metal3 need a role of their own beside it.
pub const CONTROL_PLANE: Role = role(
    CONTROL_PLANE_NAME,
    control_plane!(
        cluster(
            "clusters at the installer",
            "extensions.hive.openshift.io",
            &["agentclusterinstalls"],
            &["get", "list", "watch", "create", "patch", "delete"],
        ),
        cluster(
            "the same, and their releases",
            "hive.openshift.io",
            &["clusterdeployments", "clusterimagesets"],
            &["get", "create", "patch", "delete"],
        ),
    ),
);

/// The same with a service alone.
pub const CONTROL_PLANE_OF_SERVICE: Role = role(CONTROL_PLANE_NAME, control_plane!());

/// The roles of all providers.
pub const ROLES: &[&Role] = &[&BOOTSTRAP, &CONTROL_PLANE];

/// The roles of all providers with a service alone.
pub const ROLES_OF_SERVICE: &[&Role] = &[&BOOTSTRAP_OF_SERVICE, &CONTROL_PLANE_OF_SERVICE];
