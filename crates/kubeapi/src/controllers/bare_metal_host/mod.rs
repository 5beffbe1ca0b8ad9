//! BareMetalHosts (kube-api §6.6): a machine under metal3 boots the image of its InfraEnv, its Agent becomes what the machine's
//! annotations say, and metal3 keeps its hands off once the installer restarts it.
//!
//! This is the flow in which metal3 neither inspects nor cleans machines and boots the image as virtual media. What is decided
//! stands in [`decide`] and [`agent`], apart from what talks to servers.

mod agent;
mod decide;
mod fencing;
mod hardware;
mod matching;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::labels::label;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::error::{is_missing, optional};
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome, Reconciler};
use jiff::{SignedDuration, Timestamp};
use kube::api::{ApiResource, DynamicObject};
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::cache::get;
use super::hub::{Hub, failed};
use super::queues::Row;
use assisted_core::model::object_key::ObjectKey;
use decide::{Seen, decide};

pub(super) use matching::{belongs_to, is_of_interest, is_same_machine};

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
        let agents = self.hub.cache.agents.state_filter(|agent| is_same_machine(agent, &object));
        let agent = matching::newest(agents);
        let pauses = self.hub.service.settings().kube.pause_provisioned_hosts;
        let is_detached = object.status.as_ref().is_some_and(|status| status.operational_status == DETACHED);
        let whole_status = if pauses && is_detached { self.whole_status(&row.key).await? } else { None };
        let decided = decide(
            &object,
            &Seen {
                infra_env: infra_env.as_deref(),
                agent: agent.as_deref(),
                pauses,
                whole_status: whole_status.as_ref(),
                cool_down: self.cool_down,
                now: Timestamp::now(),
            },
        );
        if let (Some(after), Some(before)) = (&decided.agent, agent.as_deref()) {
            if decided.makes_fencing_credentials {
                fencing::keep(&self.hub, &object, before).await?;
            }
            let api = self.hub.api::<Agent>(&row.key.namespace);
            unless_gone(write::object(&api, before, after, Guard::Version).await)?;
        }
        let api = self.hub.api::<BareMetalHost>(&row.key.namespace);
        unless_gone(write::object(&api, &*object, &decided.host, Guard::Version).await)?;
        if let Some(problem) = decided.problem {
            return Err(Failure::of_row(problem));
        }
        Ok(decided.again.map_or(Outcome::Done, Outcome::After))
    }
}

impl BareMetalHostReconciler {
    /// The status with all of its fields, of which only some are known here.
    async fn whole_status(&self, key: &ObjectKey) -> Result<Option<Value>, Failure> {
        let kind = ApiResource::erase::<BareMetalHost>(&());
        let api: Api<DynamicObject> = Api::namespaced_with(self.hub.client.clone(), &key.namespace, &kind);
        let found = optional(api.get(&key.name).await).map_err(|error| failed(&error))?;
        Ok(found.and_then(|object| object.data.get("status").cloned()))
    }
}

/// An object that went meanwhile needs nothing any more.
fn unless_gone<T>(written: Result<T, kube::Error>) -> Result<(), Failure> {
    match written {
        Ok(_) => Ok(()),
        Err(error) if is_missing(&error) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
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
