//! Which Agent is which machine, and which changes of it matter (kube-api §6.6.1).

use std::sync::Arc;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::condition::find;
use assisted_crd::labels::label;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use kube::ResourceExt;

/// Whether a host is a machine: one of its interfaces has the machine's hardware address.
pub(in crate::controllers) fn is_same_machine(agent: &Agent, machine: &BareMetalHost) -> bool {
    let mac = &machine.spec.boot_mac_address;
    let inventory = agent.status.as_ref().and_then(|status| status.inventory.as_ref());
    let mut interfaces = inventory.into_iter().flat_map(|inventory| &inventory.interfaces);
    !mac.is_empty()
        && agent.metadata.namespace == machine.metadata.namespace
        && interfaces.any(|interface| interface.mac_address.eq_ignore_ascii_case(mac))
}

/// Of several Agents that a machine had, the newest.
pub(super) fn newest(agents: Vec<Arc<Agent>>) -> Option<Arc<Agent>> {
    agents.into_iter().max_by_key(|agent| (agent.creation_timestamp().map(|at| at.0), agent.name_any()))
}

/// Whether a machine boots the image of the InfraEnv of this name in its namespace.
pub(in crate::controllers) fn belongs_to(
    machine: &BareMetalHost,
    namespace: Option<&str>,
    name: &str,
) -> bool {
    machine.metadata.namespace.as_deref() == namespace
        && machine.labels().get(label::INFRA_ENV).is_some_and(|label| label.eq_ignore_ascii_case(name))
}

/// Whether an Agent changed in what its machine looks at.
pub(in crate::controllers) fn is_of_interest(before: Option<&Agent>, after: Option<&Agent>) -> bool {
    let looked_at = |agent: &Agent| {
        let status = agent.status.clone().unwrap_or_default();
        (
            agent.spec.clone(),
            agent.metadata.labels.clone(),
            status.inventory.clone(),
            status.progress.as_ref().map(|progress| progress.current_stage.clone()),
            find(&status.conditions, "Bound").map(|bound| bound.reason.clone()),
        )
    };
    before.map(looked_at) != after.map(looked_at)
}
