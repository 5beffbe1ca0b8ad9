//! AgentClusterInstalls without a ClusterDeployment (kube-api §6.2): they say what they lack, and go when they are deleted.

use assisted_crd::condition::set;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::finalizer as names;
use assisted_kube::finalizer;
use assisted_kube::write;
use assisted_reconcile::{Failure, Outcome, Reconciler};

use super::cache::get;
use super::cluster::{not_available, remove_install, spec_synced};
use super::hub::{Hub, failed, now};
use super::queues::Row;
use super::relations::deployment_of;
use crate::SyncError;

/// Looks after AgentClusterInstalls that no ClusterDeployment looks after.
pub(super) struct InstallReconciler {
    hub: Hub,
}

impl InstallReconciler {
    pub(super) fn new(hub: &Hub) -> Self {
        Self { hub: Hub::clone(hub) }
    }
}

impl Reconciler for InstallReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let Some(object) = get(&self.hub.cache.installs, &row.key) else {
            return Ok(Outcome::Done);
        };
        let deployment = deployment_of(&object);
        if get(&self.hub.cache.cluster_deployments, &deployment).is_some() {
            return Ok(Outcome::Done);
        }
        if finalizer::is_deleting(&object.metadata) {
            if finalizer::has(&object.metadata, names::AGENT_CLUSTER_INSTALL) {
                return Box::pin(remove_install(&self.hub, &deployment, None, &object)).await;
            }
            return Ok(Outcome::Done);
        }
        let problem = SyncError::input(format!(
            "ClusterDeployment with name '{}' in namespace '{}' not found. Ensure that the CRD is already applied.",
            deployment.name, deployment.namespace
        ));
        let show = |object: &mut AgentClusterInstall| {
            let status = object.status.get_or_insert_default();
            for statement in [spec_synced(Some(&problem))].into_iter().chain(not_available()) {
                set(&mut status.conditions, statement, &now());
            }
        };
        let api = self.hub.api(&row.key.namespace);
        write::status(&api, &*object, show).await.map_err(|error| failed(&error))?;
        Ok(Outcome::Done)
    }
}
