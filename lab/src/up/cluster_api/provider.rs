//! The two providers, and what the hub has to know of them and of the core before either runs.

use crate::up::Plan;

/// By this text definitions are told that the core brings along.
pub(in crate::up) const OF_CORE: &str = "\n  group: cluster.x-k8s.io\n";
/// Kinds whose objects are kept for whoever looks at them when the lab is gone.
pub(in crate::up) const KINDS: [&str; 6] = [
    "clusters.cluster.x-k8s.io",
    "machines.cluster.x-k8s.io",
    "openshiftassistedcontrolplanes",
    "openshiftassistedconfigs",
    "metal3machines",
    "metal3machinetemplates",
];

/// The namespace of the providers.
pub(super) const NAMESPACE: &str = "assisted-capi-system";
/// A provider: what it is called, its account, the port of its webhooks, and what it may do.
pub(super) struct Provider {
    pub name: &'static str,
    pub account: &'static str,
    pub port: u16,
    pub rights: &'static str,
}

pub(super) const PROVIDERS: [Provider; 2] = [
    Provider {
        name: "bootstrap",
        account: "assisted-capi-bootstrap",
        port: 9443,
        rights: include_str!("../../../../deploy/cluster-api/rbac/assisted-capi-bootstrap.yaml"),
    },
    Provider {
        name: "controlplane",
        account: "assisted-capi-control-plane",
        port: 9444,
        rights: include_str!("../../../../deploy/cluster-api/rbac/assisted-capi-control-plane.yaml"),
    },
];

/// Accounts that the hub is to know.
pub(in crate::up) fn accounts(plan: &Plan) -> impl Iterator<Item = &'static str> {
    let is_wanted = plan.cluster_api.is_some();
    PROVIDERS.iter().map(|provider| provider.account).filter(move |_| is_wanted)
}

/// A line of the hub's file of tokens.
pub(in crate::up) fn known_by(token: &str, account: &str) -> String {
    format!(
        "{token},system:serviceaccount:{NAMESPACE}:{account},{account},\"system:serviceaccounts,system:serviceaccounts:{NAMESPACE}\"\n"
    )
}
