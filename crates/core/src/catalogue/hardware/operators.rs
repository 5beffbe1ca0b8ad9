//! What operators require of hosts, before they are there and once they are (validations §4.5, §8.3).

use assisted_wire::cluster::Cluster;
use assisted_wire::requirements::{
    ClusterHostRequirementsDetails as Details, OperatorHardwareRequirements, OperatorHostRequirements,
};

use super::selection_input::SelectionInput;
use crate::catalogue::operators::{self, HostView, Operator, OperatorRequirements, PlannedCluster};
use crate::model::topology;
use crate::policy::Operators;

/// What each operator would require, selected or not, by name.
pub(super) fn preflight(cluster: &Cluster, policy: &Operators) -> Vec<OperatorHardwareRequirements> {
    operators::by_name().into_iter().map(|operator| of_operator(operator, cluster, policy)).collect()
}

/// What each operator of a host's cluster requires of the host.
pub(super) fn of_host(input: &SelectionInput<'_>) -> Vec<OperatorHostRequirements> {
    let Some(view) = HostView::of(input) else { return Vec::new() };
    let requirements = operators::requirements(&view);
    let listed = requirements.map(|(operator, extra)| OperatorHostRequirements {
        operator_name: operator.name.to_owned(),
        requirements: Some(details(extra)),
    });
    listed.collect()
}

fn details(extra: OperatorRequirements) -> Details {
    Details { cpu_cores: extra.cpu_cores, ram_mib: extra.ram_mib, ..Details::default() }
}

fn of_operator(operator: &Operator, cluster: &Cluster, policy: &Operators) -> OperatorHardwareRequirements {
    OperatorHardwareRequirements {
        operator_name: operator.name.to_owned(),
        dependencies: Some(
            operator.dependencies(topology::is_single_node(cluster)).map(str::to_owned).collect(),
        ),
        requirements: Some(operator.behaviour.preflight(PlannedCluster::of(cluster), policy).listed()),
    }
}
