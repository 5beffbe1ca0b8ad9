//! Which object belongs to which, as the objects themselves say.

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::condition::find;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::label;

/// The ClusterDeployment that an AgentClusterInstall belongs to.
pub(super) fn deployment_of(install: &AgentClusterInstall) -> ObjectKey {
    let namespace = install.metadata.namespace.clone().unwrap_or_default();
    ObjectKey::new(namespace, &install.spec.cluster_deployment_ref.name)
}

/// Whether an Agent is one of an InfraEnv.
pub(super) fn belongs_to(agent: &Agent, infra_env: &ObjectKey) -> bool {
    let labels = agent.metadata.labels.as_ref();
    agent.metadata.namespace.as_deref() == Some(&infra_env.namespace)
        && labels.and_then(|labels| labels.get(label::INFRA_ENV)) == Some(&infra_env.name)
}

/// The ClusterDeployment that an Agent is bound to.
pub(super) fn bound_to(agent: &Agent) -> Option<ObjectKey> {
    let reference = agent.spec.cluster_deployment_name.as_ref()?;
    Some(ObjectKey::new(&reference.namespace, &reference.name))
}

/// Whether what is wanted of an Agent has come to its host.
pub(super) fn is_synced(agent: &Agent) -> Option<&str> {
    find(&agent.status.as_ref()?.conditions, "SpecSynced").map(|condition| condition.status.as_str())
}
