//! A cluster is taken a step further: installed, its credentials handed out, opened for more hosts (kube-api §6.1.7).

use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::condition::find;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_reconcile::Failure;
use assisted_service::object::DescribedCluster;
use assisted_wire::cluster::{ClusterKind, ClusterStatus};
use assisted_wire::host::HostStatus;

use super::ready::{Roles, may_install};
use super::{approved, count, credentials};
use crate::SyncError;
use crate::cluster::held;
use crate::controllers::hub::Hub;

/// The next step. `is_synced`: nothing stands in the way of what the objects say.
///
/// # Errors
/// The API server is away; inside, what stands in the way.
pub(super) async fn advance(
    hub: &Hub,
    key: &ObjectKey,
    deployment: &ClusterDeployment,
    object: &AgentClusterInstall,
    known: &DescribedCluster,
    is_synced: bool,
) -> Result<Result<(), SyncError>, Failure> {
    let (rooms, caller, cluster) = (hub.service.clusters(), hub.caller(), &known.cluster);
    match (cluster.kind, cluster.status) {
        (ClusterKind::Cluster, ClusterStatus::Installed) => {
            // Only then: whoever waits for the end of an installation wants its credentials (kube-api §6.1.7).
            if let Err(problem) = credentials::hand_out(hub, deployment, object, known, true).await? {
                return Ok(Err(problem));
            }
            if credentials::is_complete(object) && is_completed(object) {
                let opened = rooms.transform_to_adding_hosts(&caller, cluster.id).await;
                return Ok(opened.map(drop).map_err(|error| SyncError::from(&error)));
            }
            Ok(Ok(()))
        }
        (ClusterKind::Cluster, ClusterStatus::Installing | ClusterStatus::Finalizing) => {
            if object.spec.cluster_metadata.is_some() {
                return Ok(Ok(()));
            }
            credentials::hand_out(hub, deployment, object, known, false).await
        }
        (ClusterKind::Cluster, ClusterStatus::Ready) if is_synced && !held(deployment, object) => {
            let wanted = Roles::wanted(&object.spec.provision_requirements);
            if !may_install(cluster, wanted, &count(hub, key, known)) {
                return Ok(Ok(()));
            }
            let begun = rooms.install(&caller, cluster.id).await;
            Ok(begun.map(drop).map_err(|error| SyncError::from(&error)))
        }
        (ClusterKind::AddHostsCluster, _) => Ok(install_hosts(hub, key, known).await),
        _ => Ok(Ok(())),
    }
}

/// Whether the object says that the installation has come to its end.
fn is_completed(object: &AgentClusterInstall) -> bool {
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    find(conditions, "Completed").is_some_and(|condition| condition.reason == "InstallationCompleted")
}

/// Hosts that are ready and approved join the cluster; the first that can't ends it.
async fn install_hosts(hub: &Hub, key: &ObjectKey, known: &DescribedCluster) -> Result<(), SyncError> {
    let approved = approved(hub, &hub.index.agents_of(&hub.cache.agents, key));
    for host in known.hosts.iter().filter(|host| host.status == HostStatus::Known) {
        let Some(infra_env_id) = host.infra_env_id.filter(|_| approved.contains(&host.id)) else { continue };
        let key = HostKey { infra_env_id, host_id: host.id };
        let begun = hub.service.hosts().install(&hub.caller(), key).await;
        begun.map_err(|error| SyncError::from(&error))?;
    }
    Ok(())
}
