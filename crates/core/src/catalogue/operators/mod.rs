//! Operators that come with a cluster: what each asks of the cluster and of its hosts, and what it brings (validations §8,
//! operators §2–§7).
//!
//! An operator is a file in [`olm`], and a line in [`OPERATORS`]; one that the published contract does not have gets a line in
//! [`assisted_wire::own_operators`] besides. The file says what it is called, what it depends on, which
//! bundle it is part of, where it can be had, how it is subscribed to, what it takes of hosts, what it checks, and which objects
//! it is installed with; what it doesn't say is empty, or usual ([`definition`]).

pub mod bundle;
mod checks;
mod definition;
mod description;
mod disks;
mod gpu;
mod olm;
pub mod selection;
mod setup;
pub mod subscription;
mod view;

use assisted_wire::cluster::Cluster;
use assisted_wire::operator::OperatorType;

pub use self::definition::Operator;
pub(crate) use self::definition::{Behaviour, OperatorRequirements, PlannedCluster};
pub use self::olm::OPERATORS;
pub(crate) use self::olm::openshift_ai::gpu_support;
pub use self::view::ClusterView;
pub(crate) use self::view::HostView;

/// Time limit of built-in operators, seconds.
pub const BUILTIN_TIMEOUT_SECONDS: i64 = 3600;

/// The operator of the web console; part of every cluster.
pub const CONSOLE: &str = "console";

/// The operator of the cluster's version.
pub const CLUSTER_VERSION: &str = "cvo";

/// The built-in operators of a cluster, by name.
pub fn builtin(check_cluster_version: bool) -> impl Iterator<Item = &'static str> {
    [CONSOLE].into_iter().chain(check_cluster_version.then_some(CLUSTER_VERSION))
}

/// The operator of a name; `ocs` is an old name of `odf`.
pub fn find(name: &str) -> Option<&'static Operator> {
    let name = if name == "ocs" { "odf" } else { name };
    OPERATORS.iter().find(|operator| operator.name == name)
}

/// Every operator, by name.
pub fn by_name() -> Vec<&'static Operator> {
    let mut all: Vec<_> = OPERATORS.iter().collect();
    all.sort_by_key(|operator| operator.name);
    all
}

/// Whether an operator is to be installed with a cluster.
pub(crate) fn is_selected(cluster: &Cluster, name: &str) -> bool {
    let mut operators = cluster.monitored_operators.iter().flatten();
    operators.any(|each| each.operator_type == Some(OperatorType::Olm) && each.name == name)
}

/// What an operator takes of a host, if the host's cluster has it.
pub(crate) fn requirement(operator: &Operator, host: &HostView<'_>) -> OperatorRequirements {
    operator.behaviour.requirements(host)
}

/// What each operator of the host's cluster takes of the host.
pub(crate) fn requirements<'a>(
    host: &'a HostView<'a>,
) -> impl Iterator<Item = (&'static Operator, OperatorRequirements)> + 'a {
    let selected = OPERATORS.iter().filter(|operator| is_selected(host.cluster, operator.name));
    selected.map(|operator| (operator, requirement(operator, host)))
}

#[cfg(test)]
mod tests;
