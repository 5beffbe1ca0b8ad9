//! BareMetalHosts (kube-api §6.6): a machine under metal3 boots the image of its InfraEnv, its Agent becomes what the machine's
//! annotations say, and metal3 keeps its hands off once the installer restarts it.
//!
//! There are two flows: metal3 boots the image as virtual media and neither inspects nor cleans machines, or it does both with the
//! image, as a PreprovisioningImage shows it, and has machines installed. What is decided stands in [`decide`] and [`agent`], apart
//! from what talks to servers; [`drain`] and [`joining`] reach into the clusters of machines.

mod agent;
mod decide;
mod drain;
mod fencing;
mod hardware;
mod joining;
mod matching;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::labels::{finalizer as names, label};
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::error::optional;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome, Reconciler};
use jiff::{SignedDuration, Timestamp};
use kube::api::{ApiResource, DeleteParams, DynamicObject};
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::cache::get;
use super::hub::{Hub, failed};
use super::queues::Row;
use assisted_core::model::object_key::ObjectKey;
use decide::{Flow, Observed, decide, takes_agent_along};
use drain::{Drained, drain};

pub(super) use matching::{belongs_to, is_of_interest};

/// What metal3 says of a machine that it keeps its hands off.
const DETACHED: &str = "detached";

/// Brings machines to boot the image of their InfraEnv, and Agents to what the machines' annotations say.
pub(super) struct BareMetalHostReconciler {
    hub: Hub,
    /// How long an image rests before machines boot it.
    cool_down: SignedDuration,
}

impl BareMetalHostReconciler {
    pub(super) fn new(hub: &Hub, cool_down: SignedDuration) -> Self {
        Self { hub: Hub::clone(hub), cool_down }
    }
}

impl Reconciler for BareMetalHostReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let Some(object) = get(&self.hub.cache.bare_metal_hosts, &row.key) else { return Ok(Outcome::Done) };
        let name = object.labels().get(label::INFRA_ENV);
        let infra_env =
            name.and_then(|name| get(&self.hub.cache.infra_envs, &ObjectKey::new(&row.key.namespace, name)));
        let agent = self.hub.index.newest_agent(&self.hub.cache.agents, &object);
        let pauses = self.hub.service.settings().kube.pause_provisioned_hosts;
        let is_detached = object.status.as_ref().is_some_and(|status| status.operational_status == DETACHED);
        let whole_status = if pauses && is_detached { self.whole(&row.key, "status").await? } else { None };
        let image = get(&self.hub.cache.preprovisioning_images, &row.key);
        let flow = match self.hub.is_converged {
            true => Flow::Converged { image: image.as_deref() },
            false => Flow::VirtualMedia,
        };
        let seen = Observed {
            flow,
            infra_env: infra_env.as_deref(),
            agent: agent.as_deref(),
            pauses,
            whole_status: whole_status.as_ref(),
            cool_down: self.cool_down,
            now: Timestamp::now(),
        };
        let mut drained = (*object).clone();
        match agent.as_deref().filter(|_| goes_with_its_agent(&object, flow)) {
            None => {}
            Some(agent) => match drain(&self.hub, &mut drained, agent, seen.now).await {
                Drained::Yes => {}
                unfinished => {
                    self.write(&row.key, &object, &drained).await?;
                    return match unfinished {
                        Drained::Later(at) => Ok(Outcome::After(at)),
                        Drained::Failed(error) => Err(Failure::passing(error)),
                        Drained::Yes | Drained::Never => Ok(Outcome::Done),
                    };
                }
            },
        }
        let decided = decide(&drained, &seen);
        let agents = self.hub.api::<Agent>(&row.key.namespace);
        if let Some(agent) = agent.as_deref().filter(|_| decided.removes_agent) {
            let deleted = agents.delete(&agent.name_any(), &DeleteParams::default()).await;
            optional(deleted).map_err(|error| failed(&error))?;
        }
        if let (Some(after), Some(before)) = (&decided.agent, agent.as_deref()) {
            if decided.makes_fencing_credentials {
                fencing::keep(&self.hub, &object, before).await?;
            }
            unless_gone(write::object(&agents, before, after, Guard::Version).await)?;
        }
        let object = self.write(&row.key, &object, &decided.host).await?;
        if let Some(problem) = decided.problem {
            return Err(Failure::of_row(problem));
        }
        if let (Some(_), Some(agent)) = (&decided.agent, agent.as_deref()) {
            let whole = async || self.whole(&row.key, "spec").await;
            return joining::join(&self.hub, &object, agent, whole).await;
        }
        Ok(decided.again.map_or(Outcome::Done, Outcome::After))
    }
}

/// Whether the node of a machine has to be empty before metal3 turns the machine off, for its Agent goes with it.
fn goes_with_its_agent(object: &BareMetalHost, flow: Flow<'_>) -> bool {
    matches!(flow, Flow::Converged { .. })
        && finalizer::is_deleting(&object.metadata)
        && finalizer::has(&object.metadata, names::BARE_METAL_HOST)
        && takes_agent_along(object)
}

impl BareMetalHostReconciler {
    /// Writes what differs of a machine; the machine as it is then.
    async fn write(
        &self,
        key: &ObjectKey,
        before: &BareMetalHost,
        after: &BareMetalHost,
    ) -> Result<BareMetalHost, Failure> {
        let api = self.hub.api::<BareMetalHost>(&key.namespace);
        let written = unless_gone(write::object(&api, before, after, Guard::Version).await)?;
        Ok(written.flatten().unwrap_or_else(|| after.clone()))
    }

    /// A part of a machine with all of its fields, of which only some are known here.
    async fn whole(&self, key: &ObjectKey, part: &str) -> Result<Option<Value>, Failure> {
        let kind = ApiResource::erase::<BareMetalHost>(&());
        let api: Api<DynamicObject> = Api::namespaced_with(self.hub.client.clone(), &key.namespace, &kind);
        let found = optional(api.get(&key.name).await).map_err(|error| failed(&error))?;
        Ok(found.and_then(|object| object.data.get(part).cloned()))
    }
}

/// What was written; `None`: the object went meanwhile, and needs nothing any more.
fn unless_gone<T>(written: Result<T, kube::Error>) -> Result<Option<T>, Failure> {
    optional(written).map_err(|error| failed(&error))
}

/// Whether machines look differently at an InfraEnv: another image, another cluster.
pub(super) fn boots_anew(before: Option<&InfraEnv>, after: Option<&InfraEnv>) -> bool {
    let looked_at = |object: &InfraEnv| {
        let status = object.status.as_ref();
        let image = status.map(|status| (status.iso_download_url.clone(), status.created_time.clone()));
        (image, object.spec.cluster_ref.clone())
    };
    before.map(looked_at) != after.map(looked_at)
}
