//! Which InfraEnv a machine belongs to, and which changes of its Agent matter (kube-api §6.6.1).

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::condition::find;
use assisted_crd::labels::label;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use kube::ResourceExt;

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
            status.debug_info.as_ref().map(|debug| debug.state.clone()),
            find(&status.conditions, "Bound").map(|bound| bound.reason.clone()),
        )
    };
    before.map(looked_at) != after.map(looked_at)
}
