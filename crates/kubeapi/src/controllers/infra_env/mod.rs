//! InfraEnvs (kube-api §6.3): the infra-env of an object, and its image in the object's status.

mod status;

use std::time::Duration;

use assisted_core::model::object_key::ObjectKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_crd::agent_install::infra_env::{InfraEnv, IpxeScriptType};
use assisted_crd::labels::finalizer as names;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome, Reconciler};
use assisted_service::object::Described;

use super::cache::get;
use super::hub::{Hub, after, failed, now, service_failure};
use super::queues::Row;
use super::referred::Referred;
use crate::cluster::install_of;
use crate::given;
use crate::infra_env::{Cluster, InfraEnvSpec, given_fields};
use crate::mirrors;
use crate::sync_error::{Class, SyncError};
use status::Image;

/// When what an object refers to is looked for again (kube-api §12).
const MISSING: Duration = Duration::from_secs(10);
/// When an image that is being made is looked for again.
const BEING_MADE: Duration = Duration::from_secs(20);

/// Brings infra-envs to what their InfraEnvs say.
pub(super) struct InfraEnvReconciler {
    hub: Hub,
}

impl InfraEnvReconciler {
    pub(super) fn new(hub: &Hub) -> Self {
        Self { hub: Hub::clone(hub) }
    }
}

/// Why there is no image.
enum Obstacle {
    /// The ClusterDeployment, or its cluster, is not there; when to look again, unless a watch tells of it.
    MissingCluster {
        text: String,
        again: Option<Duration>,
    },
    /// The image is being made.
    BeingCreated,
    SyncError(SyncError),
}

impl From<SyncError> for Obstacle {
    fn from(problem: SyncError) -> Self {
        Self::SyncError(problem)
    }
}

impl From<assisted_service::Error> for Obstacle {
    fn from(error: assisted_service::Error) -> Self {
        match error.kind() {
            RefusalKind::Conflict => Self::BeingCreated,
            _ => Self::SyncError(SyncError::from(&error)),
        }
    }
}

impl From<kube::Error> for Obstacle {
    fn from(error: kube::Error) -> Self {
        Self::SyncError(SyncError::backend(assisted_base::error::chain(&error)))
    }
}

impl Reconciler for InfraEnvReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let Some(object) = get(&self.hub.cache.infra_envs, &row.key) else { return Ok(Outcome::Done) };
        let object = (*object).clone();
        if finalizer::is_deleting(&object.metadata) {
            return Box::pin(self.remove(&row.key, object)).await;
        }
        let object = self.keep(&row.key, object).await?;
        Box::pin(self.show(&row.key, object)).await
    }
}

impl InfraEnvReconciler {
    /// Keeps the object until its infra-env is gone, and remembers what it gives.
    async fn keep(&self, key: &ObjectKey, object: InfraEnv) -> Result<InfraEnv, Failure> {
        let mut kept = object.clone();
        finalizer::add(&mut kept.metadata, names::INFRA_ENV);
        given::note(&mut kept.metadata, &given_fields(&object.spec));
        let api = self.hub.api(&key.namespace);
        let written = write::object(&api, &object, &kept, Guard::Version).await;
        Ok(written.map_err(|error| failed(&error))?.unwrap_or(object))
    }

    /// The infra-env goes with its hosts, and then the object.
    async fn remove(&self, key: &ObjectKey, object: InfraEnv) -> Result<Outcome, Failure> {
        if !finalizer::has(&object.metadata, names::INFRA_ENV) {
            return Ok(Outcome::Done);
        }
        let infra_envs = self.hub.service.infra_envs();
        if let Some(found) = infra_envs.of_object(key).await.map_err(|error| service_failure(&error))? {
            let removed = infra_envs.remove_with_hosts(&self.hub.caller(), found.infra_env.id).await;
            removed.map_err(|error| service_failure(&error))?;
        }
        let mut released = object.clone();
        finalizer::remove(&mut released.metadata, names::INFRA_ENV);
        let api = self.hub.api(&key.namespace);
        write::object(&api, &object, &released, Guard::Version).await.map_err(|error| failed(&error))?;
        Ok(Outcome::Done)
    }

    /// Brings the row to what the object says, and shows what became of it.
    async fn show(&self, key: &ObjectKey, mut object: InfraEnv) -> Result<Outcome, Failure> {
        let converged = self.converge(key, &object).await;
        let (image, outcome) = match &converged {
            Ok((infra_env, links)) => (Image::Available { infra_env, links }, Outcome::Done),
            Err(Obstacle::MissingCluster { text, again }) => {
                (Image::MissingCluster(text), again.map_or(Outcome::Done, after))
            }
            Err(Obstacle::BeingCreated) => (Image::BeingCreated, after(BEING_MADE)),
            Err(Obstacle::SyncError(problem)) => match problem.class {
                Class::Input => (Image::Refused(&problem.text), Outcome::Done),
                Class::Backend => (Image::Failed(&problem.text), after(MISSING)),
            },
        };
        let api = self.hub.api(&key.namespace);
        if converged.is_ok() {
            let mut settled = object.clone();
            given::settle(&mut settled.metadata, &given_fields(&object.spec));
            let written = write::object(&api, &object, &settled, Guard::Free).await;
            object = written.map_err(|error| failed(&error))?.unwrap_or(object);
        }
        let show = |object: &mut InfraEnv| {
            let shown =
                status::status(object.status.as_ref(), &key.name, &image, self.hub.has_images(), &now());
            object.status = Some(shown);
        };
        write::status(&api, &object, show).await.map_err(|error| failed(&error))?;
        Ok(outcome)
    }

    async fn converge(
        &self,
        key: &ObjectKey,
        object: &InfraEnv,
    ) -> Result<(assisted_wire::infra_env::InfraEnv, assisted_service::infra_env::Links), Obstacle> {
        let cluster = self.cluster(object).await?;
        let referred = Referred::by_infra_env(&self.hub, object).await?;
        let spec = InfraEnvSpec::resolve(object, &referred)?;
        let mirror_registry = mirrors(object.spec.mirror_registry_ref.as_ref(), &referred)?;
        let (rooms, caller) = (self.hub.service.infra_envs(), self.hub.caller());
        let mut known = rooms.of_object(key).await?;
        // The cluster was removed, and there is another one under its name: the image of the first leads to nobody.
        if let Some(stale) = known.as_ref().map(|known| &known.infra_env)
            && stale.cluster_id != cluster.as_ref().map(|cluster| cluster.id)
        {
            rooms.remove_with_hosts(&caller, stale.id).await?;
            known = None;
        }
        let infra_env = match known {
            None => {
                let params = spec.create(cluster.as_ref())?;
                let described = Described { key: key.clone(), mirror_registry };
                rooms.register_described(&caller, &params, &described).await?
            }
            Some(known) => {
                if known.mirror_registry != mirror_registry {
                    rooms.set_mirror_registry(&caller, known.infra_env.id, mirror_registry.as_ref()).await?;
                }
                let id = known.infra_env.id;
                let update = spec.update(&known.infra_env)?;
                let is_taken_away =
                    !update.taken_away.is_empty() && rooms.take_away(&caller, id, &update.taken_away).await?;
                if !is_taken_away
                    && update.changed.is_empty()
                    && update.params.pull_secret == known.pull_secret
                {
                    known.infra_env
                } else {
                    rooms.update(&caller, id, update.params).await?
                }
            }
        };
        let boot_order_control = object.spec.ipxe_script_type == Some(IpxeScriptType::BootOrderControl);
        let links = rooms.links(infra_env.id, boot_order_control).await?;
        Ok((infra_env, links))
    }

    /// The cluster that the hosts are for, if they are for one.
    async fn cluster(&self, object: &InfraEnv) -> Result<Option<Cluster>, Obstacle> {
        let Some(reference) = &object.spec.cluster_ref else { return Ok(None) };
        let key = ObjectKey::new(&reference.namespace, &reference.name);
        let Some(deployment) = get(&self.hub.cache.cluster_deployments, &key) else {
            let ObjectKey { namespace, name } = &key;
            let text = format!(
                "failed to get clusterDeployment with name {name} in namespace {namespace}: \
                 ClusterDeployment {name:?} not found"
            );
            return Err(Obstacle::MissingCluster { text, again: None });
        };
        match self.hub.service.clusters().of_object(&key).await {
            Ok(Some(found)) => {
                Ok(Some(Cluster { id: found.cluster.id, openshift_version: found.cluster.openshift_version }))
            }
            Ok(None) => {
                let place = match install_of(&deployment) {
                    Some(install) => format!(
                        "check AgentClusterInstall conditions: name {install} in namespace {}",
                        key.namespace
                    ),
                    None => "AgentClusterInstall is not defined in ClusterDeployment".to_owned(),
                };
                let text = format!("cluster does not exist: {}, {place}", key.name);
                Err(Obstacle::MissingCluster { text, again: Some(MISSING) })
            }
            Err(error) => {
                let text = assisted_base::error::chain(&error);
                Err(Obstacle::MissingCluster { text, again: Some(MISSING) })
            }
        }
    }
}
