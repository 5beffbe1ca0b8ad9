//! Every operator that can be installed with a cluster (service-api Appendix C).

use assisted_base::version::below;
use assisted_wire::support_level::FeatureSupportLevelId as Id;

use crate::catalogue::feature::rule;

/// An operator that its own subscription brings.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    pub name: &'static str,
    pub feature: Id,
    pub namespace: &'static str,
    subscription: &'static str,
    pub timeout_seconds: i64,
    depends_on: &'static [&'static str],
    /// What it needs besides on a single node.
    depends_on_single_node: &'static [&'static str],
}

impl Operator {
    /// Name in texts.
    pub fn full_name(&self) -> &'static str {
        rule::name(self.feature)
    }

    /// Name of its subscription.
    pub fn subscription(&self, version: &str) -> &'static str {
        if self.name == "lvm" && below(version, 4, 12) { "odf-lvm-operator" } else { self.subscription }
    }

    /// Names of the operators that it needs.
    pub fn dependencies(&self, single_node: bool) -> impl Iterator<Item = &'static str> {
        let further = if single_node { self.depends_on_single_node } else { &[] };
        self.depends_on.iter().chain(further).copied()
    }

    /// Names of the operators that it needs somewhere.
    pub fn all_dependencies(&self) -> impl Iterator<Item = &'static str> {
        self.dependencies(true)
    }
}

/// Time limit of built-in operators, seconds.
pub const BUILTIN_TIMEOUT_SECONDS: i64 = 3600;

/// The operator of the web console; part of every cluster.
pub const CONSOLE: &str = "console";

/// The operator of the cluster's version.
pub const CLUSTER_VERSION: &str = "cvo";

const fn new(
    name: &'static str,
    feature: Id,
    namespace: &'static str,
    subscription: &'static str,
) -> Operator {
    Operator {
        name,
        feature,
        namespace,
        subscription,
        timeout_seconds: 1800,
        depends_on: &[],
        depends_on_single_node: &[],
    }
}

/// Every operator, by name.
pub const OLM: &[Operator] = &[
    Operator {
        depends_on: &["node-feature-discovery", "kmm"],
        ..new("amd-gpu", Id::AmdGpu, "openshift-amd-gpu", "amd-gpu-operator")
    },
    new("authorino", Id::Authorino, "openshift-operators", "authorino-operator"),
    Operator {
        depends_on: &["openshift-logging"],
        ..new(
            "cluster-observability",
            Id::ClusterObservability,
            "openshift-cluster-observability-operator",
            "cluster-observability-operator",
        )
    },
    Operator { timeout_seconds: 3600, ..new("cnv", Id::Cnv, "openshift-cnv", "hco-operatorhub") },
    Operator {
        depends_on: &["node-healthcheck"],
        ..new(
            "fence-agents-remediation",
            Id::FenceAgentsRemediation,
            "openshift-workload-availability",
            "fence-agents-remediation",
        )
    },
    new("kmm", Id::Kmm, "openshift-kmm", "kernel-module-management"),
    new(
        "kube-descheduler",
        Id::KubeDescheduler,
        "openshift-kube-descheduler-operator",
        "cluster-kube-descheduler-operator",
    ),
    new("loki", Id::Loki, "openshift-operators-redhat", "loki-operator"),
    Operator {
        timeout_seconds: 4200,
        ..new("lso", Id::Lso, "openshift-local-storage", "local-storage-operator")
    },
    new("lvm", Id::Lvm, "openshift-storage", "lvms-operator"),
    Operator { timeout_seconds: 3600, ..new("mce", Id::Mce, "multicluster-engine", "multicluster-engine") },
    new("metallb", Id::Metallb, "metallb-system", "metallb-operator"),
    Operator {
        timeout_seconds: 3600,
        depends_on: &["cnv"],
        ..new("mtv", Id::Mtv, "openshift-mtv", "mtv-operator")
    },
    Operator {
        timeout_seconds: 3600,
        ..new("nmstate", Id::Nmstate, "openshift-nmstate", "kubernetes-nmstate-operator")
    },
    new("node-feature-discovery", Id::NodeFeatureDiscovery, "openshift-nfd", "nfd"),
    new(
        "node-healthcheck",
        Id::NodeHealthcheck,
        "openshift-workload-availability",
        "node-healthcheck-operator",
    ),
    new(
        "node-maintenance",
        Id::NodeMaintenance,
        "openshift-workload-maintenance",
        "node-maintenance-operator",
    ),
    new("numaresources", Id::NumaResources, "openshift-numaresources", "numaresources-operator"),
    Operator {
        depends_on: &["node-feature-discovery"],
        ..new("nvidia-gpu", Id::NvidiaGpu, "nvidia-gpu-operator", "gpu-operator-certified")
    },
    new("oadp", Id::Oadp, "openshift-adp", "redhat-oadp-operator"),
    Operator { depends_on: &["lso"], ..new("odf", Id::Odf, "openshift-storage", "odf-operator") },
    Operator {
        depends_on_single_node: &["lvm"],
        ..new("openshift-ai", Id::OpenshiftAi, "redhat-ods-operator", "rhods-operator")
    },
    Operator {
        depends_on: &["loki"],
        ..new("openshift-logging", Id::OpenshiftLogging, "openshift-logging", "cluster-logging")
    },
    Operator {
        timeout_seconds: 3600,
        depends_on: &["node-feature-discovery"],
        ..new("osc", Id::Osc, "openshift-sandboxed-containers-operator", "sandboxed-containers-operator")
    },
    new("pipelines", Id::Pipelines, "openshift-operators", "openshift-pipelines-operator-rh"),
    Operator {
        depends_on: &["node-healthcheck"],
        ..new(
            "self-node-remediation",
            Id::SelfNodeRemediation,
            "openshift-workload-availability",
            "self-node-remediation",
        )
    },
    new("serverless", Id::Serverless, "openshift-serverless", "serverless-operator"),
    new("servicemesh", Id::Servicemesh, "openshift-operators", "servicemeshoperator"),
];

/// The operator of a name; `ocs` is an old name of `odf`.
pub fn find(name: &str) -> Option<&'static Operator> {
    let name = if name == "ocs" { "odf" } else { name };
    OLM.iter().find(|operator| operator.name == name)
}

/// The built-in operators of a cluster, by name.
pub fn builtin(check_cluster_version: bool) -> impl Iterator<Item = &'static str> {
    [CONSOLE].into_iter().chain(check_cluster_version.then_some(CLUSTER_VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_complete_and_closed() {
        assert_eq!(OLM.len(), 28);
        assert!(OLM.is_sorted_by(|a, b| a.name < b.name));
        for operator in OLM {
            for name in operator.all_dependencies() {
                assert!(find(name).is_some(), "{name}");
            }
        }
        assert_eq!(find("ocs").unwrap().name, "odf");
        assert_eq!(find("lvm").unwrap().subscription("4.11.3"), "odf-lvm-operator");
        assert_eq!(find("lvm").unwrap().subscription("4.12.0"), "lvms-operator");
    }
}
