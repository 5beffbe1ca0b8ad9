//! A host registers, for the first time or again (service-api §6.2).

use assisted_core::decide::host::machine::Origin;
use assisted_core::decide::host::registration::{Registered, next_step_runner, register_host};
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;
use assisted_store::{Deleted, Due};
use assisted_wire::host::HostRegistrationResponse;
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::InfraEnvId;
use jiff::SignedDuration;

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::unit_of_work::UnitOfWork;
use crate::view::host::full_host;
use crate::{Caller, Error};

/// Of a new host nothing is known, and its inventory comes within a moment and is looked at with all else: only if it
/// does not come, the host is judged without it.
const FIRST_LOOK: SignedDuration = SignedDuration::from_millis(500);

impl Hosts {
    /// Registers a host.
    ///
    /// # Errors
    ///
    /// 404 without the infra-env or its cluster, 409 when the host must not register now, else 400.
    pub async fn register(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
        params: HostCreateParams,
    ) -> Result<HostRegistrationResponse, Error> {
        let key = HostKey { infra_env_id, host_id: params.host_id };
        // Most hosts that are not cached are new: inserted at once, and only looked up when that fails.
        if self.database.cache().hosts.get(&key).is_err()
            && let Ok(response) = self.register_new(caller, key, &params).await
        {
            return Ok(response);
        }
        attempt!(self.database, caller, self.register_known(caller, key, &params))
    }

    /// Registers a host that is thought to be new. It comes to nothing when it is not, or may not register.
    async fn register_new(
        &self,
        caller: &Caller,
        key: HostKey,
        params: &HostCreateParams,
    ) -> Result<HostRegistrationResponse, AttemptError> {
        let infra_env = self.infra_env_of(key).await?;
        let cluster = match infra_env.record.infra_env.cluster_id {
            Some(id) => Some(self.database.cached_cluster(id).await?.ok_or_else(no_cluster)?),
            None => None,
        };
        let cluster = cluster.as_ref().map(|cluster| &cluster.record);
        let now = self.database.now();
        let (user, origin) = (&caller.user_name, origin(caller));
        let registered = register_host(None, &infra_env.record, cluster, params, user, &origin, now)?;
        let mut work = self.database.blank_work();
        work.request_id = Some(caller.request_id);
        self.insert(&mut work, registered, key);
        let facts = work.commit(&self.database).await?;
        self.database.ensure_infra_env(caller, key).await?;
        self.registration_response(&facts.hosts[0])
    }

    /// Registers a host that may be known, or was known and is deleted.
    async fn register_known(
        &self,
        caller: &Caller,
        key: HostKey,
        params: &HostCreateParams,
    ) -> Result<HostRegistrationResponse, AttemptError> {
        let infra_env = self.infra_env_of(key).await?;
        let row = self.database.reader().load_host(key, Deleted::Shown).await?.map(|found| found.host);
        let deleted = row.as_ref().is_some_and(|row| row.record.host.deleted_at.is_some());
        let bound = row.as_ref().filter(|_| !deleted).and_then(|row| row.record.host.cluster_id);
        let cluster_id = infra_env.record.infra_env.cluster_id.or(bound);
        let turn = self.reports.lock_soon(cluster_id).await;
        let mut work = match cluster_id {
            Some(id) => self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?,
            None => self.database.blank_work(),
        };
        work.request_id = Some(caller.request_id);
        if let Some(row) = row.filter(|_| !deleted)
            && work.host(key).is_none()
        {
            let version = row.version;
            let host = self.database.facts_of_host(row).await?;
            work.add_stored(host, version);
        }
        let (cluster, now) = (work.cluster().cloned(), work.facts.now);
        let existing = work.host(key);
        let (cluster, user, origin) = (cluster.as_ref(), &caller.user_name, origin(caller));
        let decided = register_host(existing, &infra_env.record, cluster, params, user, &origin, now)?;
        if decided.created {
            if deleted {
                work.batch.delete_host(key);
            }
            self.insert(&mut work, decided, key);
        } else {
            // The agent was heard, whatever came of it.
            let entry = self.database.cache().check_ins.entry(key);
            self.database.cache().check_ins.record(&entry, now);
            // An agent that was started anew has lost its steps.
            entry.handed_out.clear();
            work.merge(decided.decision);
            let due = due_of(&work, key);
            // Its cluster shows at once that it starts over, unless it is a host of another one, or of none.
            if turn.is_some() && work.cluster().is_some_and(|record| due == Due::Cluster(record.cluster.id)) {
                work.refresh_and_mark().await?;
            } else {
                work.batch.mark_due(due, now);
            }
        }
        let facts = work.commit(&self.database).await?;
        self.database.ensure_infra_env(caller, key).await?;
        let host = facts
            .hosts
            .iter()
            .find(|host| host.key() == key)
            .ok_or_else(|| Error::internal("a host vanished"))?;
        self.registration_response(host)
    }

    fn insert(&self, work: &mut UnitOfWork, registered: Registered, key: HostKey) {
        work.add_new(registered.host);
        work.merge(registered.decision);
        let first_look = work.facts.now.checked_add(FIRST_LOOK).unwrap_or(work.facts.now);
        work.batch.mark_due(due_of(work, key), first_look);
    }

    fn registration_response(
        &self,
        host: &assisted_core::model::facts::HostFacts,
    ) -> Result<HostRegistrationResponse, AttemptError> {
        let command = next_step_runner(self.database.policy(), host.key());
        Ok(HostRegistrationResponse { host: full_host(host), next_step_runner_command: Some(command) })
    }

    async fn infra_env_of(
        &self,
        key: HostKey,
    ) -> Result<
        std::sync::Arc<assisted_store::Stored<assisted_core::model::infra_env::InfraEnvRecord>>,
        AttemptError,
    > {
        self.database
            .known_infra_env(key.infra_env_id)
            .await?
            .ok_or_else(|| crate::not_found::no_infra_env(key.infra_env_id).into())
    }
}

/// Where a registration comes from.
fn origin(caller: &Caller) -> Origin {
    Origin { machine: caller.machine.clone(), key: caller.host_key.clone(), peer: caller.peer }
}

fn no_cluster() -> AttemptError {
    Refusal::not_found("record not found").into()
}

/// What is due when a host changes: its cluster, or the host itself.
fn due_of(work: &UnitOfWork, key: HostKey) -> Due {
    let cluster = work.host(key).and_then(|host| host.record.host.cluster_id);
    cluster.map_or(Due::Host(key), Due::Cluster)
}
