//! Rules on Agents (kube-api §5.2).

use assisted_crd::agent_install::agent::Agent;

use super::verdict::{Denial, Verdict};
use super::webhook::{Change, Kind, Operation, Webhook};

/// States of a host in which it stays in its cluster.
const INSTALLING: &[&str] = &[
    "preparing-for-installation",
    "preparing-failed",
    "preparing-successful",
    "installing",
    "installing-in-progress",
    "installing-pending-user-action",
];

/// Kind of a host that joins a cluster that is there; it may leave while it is installed.
const DAY2: &str = "AddToExistingClusterHost";

pub(super) struct AgentValidator;

impl Webhook for AgentValidator {
    type Object = Agent;

    const NAME: &'static str = "agentvalidators";
    const KIND: Kind = Kind::Validating;
    // The service creates Agents: it needs nobody to judge them.
    const OPERATIONS: &'static [Operation] = &[Operation::Update];

    fn review(change: &Change<Agent>) -> Verdict {
        let new = change.after();
        if !new.spec.installation_disk_id.is_empty() && !new.spec.installation_disk_path.is_empty() {
            return Denial::bad_request(
                "Either InstallationDiskID or InstallationDiskPath can be set, not both.",
            )
            .into();
        }
        let Some(old) = change.before() else { return Verdict::Allowed };
        if old.spec.cluster_deployment_name != new.spec.cluster_deployment_name && !may_move(new) {
            return Denial::bad_request(
                "Attempted to change Spec.ClusterDeploymentName which is immutable during Agent installation.",
            )
            .into();
        }
        Verdict::Allowed
    }
}

fn may_move(new: &Agent) -> bool {
    let Some(status) = &new.status else { return true };
    let state = status.debug_info.as_ref().map(|info| info.state.as_str()).unwrap_or_default();
    !INSTALLING.contains(&state) || (status.kind == DAY2 && new.spec.cluster_deployment_name.is_none())
}
