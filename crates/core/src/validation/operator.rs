//! Outcomes of operators, of which there is one for each host and one for the cluster (validations §8.2).

use assisted_wire::cluster::Cluster;

use crate::catalogue::operators::{Behaviour, ClusterView, HostView, Operator, gpu_support, is_selected};
use crate::model::outcome::Outcome;
use crate::model::topology;

/// What is said of an operator and a host; `None` for the host: it joins an installed cluster.
pub(super) fn of_host(operator: &Operator, cluster: &Cluster, host: Option<&HostView<'_>>) -> Outcome {
    outcome(operator, cluster, |behaviour| host.map(|host| behaviour.check_host(host)))
}

/// What is said of an operator and the cluster.
pub(super) fn of_cluster(operator: &Operator, view: &ClusterView<'_>) -> Outcome {
    outcome(operator, view.cluster, |behaviour| {
        (!topology::is_day2(view.cluster)).then(|| behaviour.check_cluster(view))
    })
}

fn outcome(
    operator: &Operator,
    cluster: &Cluster,
    check: impl FnOnce(&dyn Behaviour) -> Option<Outcome>,
) -> Outcome {
    if !is_selected(cluster, operator.name) {
        return Outcome::success(operator.disabled);
    }
    if topology::is_day2(cluster) {
        let name = operator.name;
        return Outcome::success(format!(
            "{name} validation is disabled when adding hosts to an existing cluster."
        ));
    }
    check(operator.behaviour).unwrap_or_else(|| Outcome::success(operator.disabled))
}

/// What is said of GPUs for the one operator that has a second validation of the cluster.
pub(super) fn of_gpu_support(cluster: &Cluster) -> Outcome {
    if !is_selected(cluster, "openshift-ai") {
        Outcome::success("openshift-ai is disabled")
    } else if topology::is_day2(cluster) {
        Outcome::success("openshift-ai validation is disabled when adding hosts to an existing cluster.")
    } else {
        gpu_support(cluster)
    }
}
