//! A cluster is removed with its objects (kube-api §6.1.4, §6.1.5).

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::{finalizer as names, label};
use assisted_kube::error::optional;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome};
use assisted_wire::cluster::ClusterStatus;
use kube::ResourceExt;
use kube::api::DeleteParams;

use super::AGAIN;
use crate::controllers::cache::get;
use crate::controllers::hub::{Hub, after, failed, service_failure};

/// The states in which an installation can be cancelled.
const CANCELLABLE: [ClusterStatus; 5] = [
    ClusterStatus::Installing,
    ClusterStatus::PreparingForInstallation,
    ClusterStatus::InstallingPendingUserAction,
    ClusterStatus::Finalizing,
    ClusterStatus::Error,
];

/// What becomes of an Agent whose cluster goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Deleted,
    /// Back to its pool.
    Unbound,
}

fn fate(infra_env: Option<&InfraEnv>, cluster: &ObjectKey, preserve: bool) -> Fate {
    let Some(infra_env) = infra_env else { return Fate::Unbound };
    match &infra_env.spec.cluster_ref {
        Some(own) if own.name == cluster.name && own.namespace == cluster.namespace => Fate::Deleted,
        None if preserve => Fate::Deleted,
        _ => Fate::Unbound,
    }
}

/// The AgentClusterInstall of a ClusterDeployment, which may be gone already, is deleted: its cluster goes first.
pub(in crate::controllers) async fn remove_install(
    hub: &Hub,
    key: &ObjectKey,
    deployment: Option<&ClusterDeployment>,
    install: &AgentClusterInstall,
) -> Result<Outcome, Failure> {
    let (rooms, caller) = (hub.service.clusters(), hub.caller());
    let found = rooms.of_object(key).await.map_err(|error| service_failure(&error))?;
    if let Some(found) = &found
        && CANCELLABLE.contains(&found.cluster.status)
    {
        rooms
            .cancel_installation(&caller, found.cluster.id)
            .await
            .map_err(|error| service_failure(&error))?;
    }
    let preserve = deployment.is_some_and(|deployment| deployment.spec.preserve_on_delete == Some(true));
    for agent in hub.index.agents_of(&hub.cache.agents, key) {
        release(hub, key, &agent, preserve).await.map_err(|error| failed(&error))?;
    }
    if let Some(found) = found {
        let removed = rooms.deregister(&caller, found.cluster.id).await;
        removed.map_err(|error| {
            Failure::passing(format!("failed to deregister cluster: {}: {error}", install.name_any()))
        })?;
    }
    let mut released = install.clone();
    finalizer::remove(&mut released.metadata, names::AGENT_CLUSTER_INSTALL);
    let api = hub.api(&install.namespace().unwrap_or_default());
    write::object(&api, install, &released, Guard::Version).await.map_err(|error| failed(&error))?;
    Ok(Outcome::Done)
}

async fn release(hub: &Hub, cluster: &ObjectKey, agent: &Agent, preserve: bool) -> Result<(), kube::Error> {
    let namespace = agent.namespace().unwrap_or_default();
    let infra_env = agent.labels().get(label::INFRA_ENV);
    let infra_env = infra_env.and_then(|name| get(&hub.cache.infra_envs, &ObjectKey::new(&namespace, name)));
    let api = hub.api::<Agent>(&namespace);
    match fate(infra_env.as_deref(), cluster, preserve) {
        Fate::Deleted if finalizer::is_deleting(&agent.metadata) => Ok(()),
        Fate::Deleted => optional(api.delete(&agent.name_any(), &DeleteParams::default()).await).map(drop),
        Fate::Unbound => {
            let mut unbound = agent.clone();
            unbound.spec.cluster_deployment_name = None;
            write::object(&api, agent, &unbound, Guard::Version).await.map(drop)
        }
    }
}

/// A ClusterDeployment is deleted: its AgentClusterInstall goes first.
pub(super) async fn remove_deployment(
    hub: &Hub,
    deployment: &ClusterDeployment,
    install: Option<&AgentClusterInstall>,
) -> Result<Outcome, Failure> {
    if !finalizer::has(&deployment.metadata, names::CLUSTER_DEPLOYMENT) {
        return Ok(Outcome::Done);
    }
    let namespace = deployment.namespace().unwrap_or_default();
    if let Some(install) = install {
        let api = hub.api::<AgentClusterInstall>(&namespace);
        let deleted = api.delete(&install.name_any(), &DeleteParams::default()).await;
        optional(deleted).map_err(|error| failed(&error))?;
        return Ok(after(AGAIN));
    }
    let mut released = deployment.clone();
    finalizer::remove(&mut released.metadata, names::CLUSTER_DEPLOYMENT);
    let api = hub.api(&namespace);
    write::object(&api, deployment, &released, Guard::Version).await.map_err(|error| failed(&error))?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use assisted_core::state::cluster::transition::CANCEL;
    use assisted_crd::common::ClusterReference;

    use super::*;

    #[test]
    fn what_can_be_cancelled_is_cancelled() {
        for status in ClusterStatus::ALL {
            let is_legal = CANCEL.iter().any(|rule| rule.from.contains(status));
            assert_eq!(CANCELLABLE.contains(status), is_legal, "{status}");
        }
        assert_eq!(CANCEL.iter().map(|rule| rule.from.len()).sum::<usize>(), CANCELLABLE.len());
    }

    #[test]
    fn agents_of_the_cluster_itself_go_and_others_return_to_their_pool() {
        let cluster = ObjectKey::new("site", "demo");
        let bound = |name: &str| {
            let mut infra_env = InfraEnv::default();
            infra_env.spec.cluster_ref =
                Some(ClusterReference { name: name.to_owned(), namespace: "site".to_owned() });
            infra_env
        };
        let pool = InfraEnv::default();
        for (infra_env, preserve, expected) in [
            (Some(&bound("demo")), false, Fate::Deleted),
            (Some(&bound("demo")), true, Fate::Deleted),
            (Some(&bound("other")), true, Fate::Unbound),
            (Some(&pool), false, Fate::Unbound),
            (Some(&pool), true, Fate::Deleted),
            (None, true, Fate::Unbound),
        ] {
            assert_eq!(fate(infra_env, &cluster, preserve), expected, "{infra_env:?} {preserve}");
        }
    }
}
