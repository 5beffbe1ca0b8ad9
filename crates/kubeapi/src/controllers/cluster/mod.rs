//! ClusterDeployments with their AgentClusterInstalls (kube-api §6.1): the cluster of both, its installation, and what becomes of it.

mod converge;
mod credentials;
mod install;
mod ready;
mod removal;
mod settings;
mod status;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::finalizer as names;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome, Reconciler};
use assisted_service::TokenResource;
use assisted_service::object::DescribedCluster;
use assisted_wire::cluster::Cluster;
use assisted_wire::id::HostId;
use assisted_wire::operation::BASE_PATH;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;

use super::cache::get;
use super::hub::{Hub, after, failed, now, service_failure};
use super::queues::Row;
use super::relations::is_synced;
use crate::cluster::{given_fields, held, install_of};
use crate::given;
use crate::sync_error::Class;
use converge::Converged;
use ready::{Counts, Roles};
pub(super) use removal::remove_install;
pub(super) use status::{not_available, spec_synced};

/// When what is in the way, and may go away by itself, is looked at again (kube-api §12).
const AGAIN: Duration = Duration::from_secs(10);

/// Brings clusters to what their objects say.
pub(super) struct ClusterReconciler {
    hub: Hub,
}

impl ClusterReconciler {
    pub(super) fn new(hub: &Hub) -> Self {
        Self { hub: Hub::clone(hub) }
    }
}

impl Reconciler for ClusterReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let key = &row.key;
        let Some(deployment) = get(&self.hub.cache.cluster_deployments, key) else {
            return Ok(Outcome::Done);
        };
        let Some(name) = install_of(&deployment) else { return Ok(Outcome::Done) };
        let install_key = ObjectKey::new(&key.namespace, name);
        let install = get(&self.hub.cache.installs, &install_key);
        if let Some(install) = &install
            && finalizer::is_deleting(&install.metadata)
        {
            if finalizer::has(&install.metadata, names::AGENT_CLUSTER_INSTALL) {
                return Box::pin(remove_install(&self.hub, key, Some(&deployment), install)).await;
            }
            return Ok(Outcome::Done);
        }
        if finalizer::is_deleting(&deployment.metadata) {
            return removal::remove_deployment(&self.hub, &deployment, install.as_deref()).await;
        }
        let Some(install) = install else { return Ok(Outcome::Done) };
        let deployment = self.keep_deployment(key, &deployment).await?;
        let install = self.keep_install(&install_key, &install, &deployment).await?;
        Box::pin(self.show(key, &deployment, &install)).await
    }
}

impl ClusterReconciler {
    async fn keep_deployment(
        &self,
        key: &ObjectKey,
        object: &ClusterDeployment,
    ) -> Result<ClusterDeployment, Failure> {
        let mut kept = object.clone();
        finalizer::add(&mut kept.metadata, names::CLUSTER_DEPLOYMENT);
        let api = self.hub.api(&key.namespace);
        let written = write::object(&api, object, &kept, Guard::Version).await;
        Ok(written.map_err(|error| failed(&error))?.unwrap_or(kept))
    }

    /// Keeps the object until its cluster is gone, lets it go with its ClusterDeployment, and remembers what it gives.
    async fn keep_install(
        &self,
        key: &ObjectKey,
        object: &AgentClusterInstall,
        deployment: &ClusterDeployment,
    ) -> Result<AgentClusterInstall, Failure> {
        let mut kept = object.clone();
        finalizer::add(&mut kept.metadata, names::AGENT_CLUSTER_INSTALL);
        own(&mut kept, deployment);
        given::note(&mut kept.metadata, &given_fields(&object.spec));
        let api = self.hub.api(&key.namespace);
        let written = write::object(&api, object, &kept, Guard::Version).await;
        Ok(written.map_err(|error| failed(&error))?.unwrap_or(kept))
    }

    /// Brings the row to what the objects say, and shows what became of it.
    async fn show(
        &self,
        key: &ObjectKey,
        deployment: &ClusterDeployment,
        install: &AgentClusterInstall,
    ) -> Result<Outcome, Failure> {
        let Converged { problem, again } =
            Box::pin(converge::converge(&self.hub, key, deployment, install)).await?;
        let api = self.hub.api::<AgentClusterInstall>(&key.namespace);
        let mut written = None;
        if problem.is_none() {
            let mut settled = install.clone();
            given::settle(&mut settled.metadata, &given_fields(&install.spec));
            let done = write::object(&api, install, &settled, Guard::Free).await;
            written = done.map_err(|error| failed(&error))?;
        }
        let passing = problem.as_ref().is_some_and(|problem| problem.class == Class::Backend);
        // What stands in the way in the cluster itself is tried again by its own queue.
        let problem = problem.or_else(|| self.hub.spokes.problem(key));
        // As it is now, whatever was changed.
        let described =
            self.hub.service.clusters().of_object(key).await.map_err(|error| service_failure(&error))?;
        let counts = described.as_ref().map(|found| count(&self.hub, key, found)).unwrap_or_default();
        let cluster = described.as_ref().map(|found| &found.cluster);
        let (events_url, logs_url) = match &described {
            Some(found) => self.links(found).await?,
            None => Default::default(),
        };
        let images = match &described {
            Some(found) if found.in_image_mode => {
                let clusters = self.hub.service.clusters();
                let images = clusters.get_layering(&self.hub.caller(), found.cluster.id).await;
                Some(images.map_err(|error| service_failure(&error))?)
            }
            _ => None,
        };
        let seen = status::Observed {
            cluster,
            problem: problem.as_ref(),
            held: held(deployment, install),
            wanted: Roles::wanted(&install.spec.provision_requirements),
            counts: &counts,
            events_url: &events_url,
            logs_url: logs_url.as_deref(),
            images: images.as_ref(),
        };
        let show = |install: &mut AgentClusterInstall| {
            install.status = Some(status::status(install.status.as_ref(), &seen, &now()));
        };
        // Over what was written above: it would be in conflict with that otherwise.
        let latest = written.as_ref().unwrap_or(install);
        write::status(&api, latest, show).await.map_err(|error| failed(&error))?;
        Ok(again.or_else(|| passing.then_some(AGAIN)).map_or(Outcome::Done, after))
    }

    /// Where the cluster's events are, and its logs, once there are some (kube-api §8).
    async fn links(&self, found: &DescribedCluster) -> Result<(String, Option<String>), Failure> {
        let id = found.cluster.id;
        let token = self.hub.service.access().token(TokenResource::Cluster(id)).await;
        let token = token.map_err(|error| service_failure(&error))?;
        let base = self.hub.service.settings().http.service_base_url.trim_end_matches('/').to_owned();
        let events = link(&format!("{base}{BASE_PATH}/v2/events?cluster_id={id}"), token.as_deref());
        let logs = has_logs(&found.cluster, found)
            .then(|| link(&format!("{base}{BASE_PATH}/v2/clusters/{id}/logs"), token.as_deref()));
        Ok((events, logs))
    }
}

fn has_logs(cluster: &Cluster, found: &DescribedCluster) -> bool {
    !cluster.controller_logs_collected_at.is_zero()
        || found.hosts.iter().any(|host| !host.logs_collected_at.is_zero())
}

/// An address with the token that opens it; members of its query stand in order.
pub(super) fn link(url: &str, token: Option<&str>) -> String {
    let Some(token) = token else { return url.to_owned() };
    match url.split_once('?') {
        Some((path, query)) => format!("{path}?api_key={token}&{query}"),
        None => format!("{url}?api_key={token}"),
    }
}

/// What is known of a cluster's hosts, and of their Agents.
fn count(hub: &Hub, key: &ObjectKey, found: &DescribedCluster) -> Counts {
    let agents = hub.index.agents_of(&hub.cache.agents, key);
    let unsynced = agents.iter().filter(|agent| is_synced(agent) == Some("False")).count();
    let approved = approved(hub, &agents);
    Counts::of(&found.hosts, unsynced, |id| approved.contains(&id))
}

/// The hosts that somebody has approved: a cluster may have thousands.
fn approved(hub: &Hub, agents: &[Arc<Agent>]) -> BTreeSet<HostId> {
    let agents = agents.iter().filter(|agent| hub.synced.is_approved(agent));
    agents.filter_map(|agent| agent.metadata.name.as_ref()?.parse().ok()).collect()
}

/// Makes a ClusterDeployment an owner of its AgentClusterInstall, though not its controller.
fn own(install: &mut AgentClusterInstall, deployment: &ClusterDeployment) {
    add_owner(install.metadata.owner_references.get_or_insert_default(), owner(deployment));
}

/// Adds an owner that is missing. One of its kind with another UID was there before it, under the same name: what comes out of a backup
/// names it still, and nobody is of that UID any more.
fn add_owner(owners: &mut Vec<OwnerReference>, owner: OwnerReference) {
    owners.retain(|known| known.kind != owner.kind || known.name != owner.name || known.uid == owner.uid);
    if !owners.iter().any(|known| known.uid == owner.uid) {
        owners.push(owner);
    }
}

/// A ClusterDeployment as an owner.
fn owner(deployment: &ClusterDeployment) -> OwnerReference {
    OwnerReference {
        api_version: "hive.openshift.io/v1".to_owned(),
        kind: "ClusterDeployment".to_owned(),
        name: deployment.name_any(),
        uid: deployment.metadata.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// The cluster that an object describes, if there is one.
async fn described(hub: &Hub, key: &ObjectKey) -> Result<Option<DescribedCluster>, Failure> {
    hub.service.clusters().of_object(key).await.map_err(|error| service_failure(&error))
}
