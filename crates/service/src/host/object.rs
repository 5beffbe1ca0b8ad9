//! Hosts of infra-envs that objects of the Kubernetes API describe. Such a host's own object is called by its id, and stands in
//! the namespace of the infra-env's.

use assisted_core::decide::host::approval::approve_host;
use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_store::{HostFilter, HostRow};
use assisted_wire::id::{HostId, InfraEnvId};

use super::Hosts;
use crate::attempt::{AttemptError, attempt, final_error};
use crate::not_found::no_host;
use crate::object::DescribedHost;
use crate::view::cluster::render_without_hosts;
use crate::view::host::render_host;
use crate::{Caller, Error};

impl Hosts {
    /// The registrations of the host that an object stands for, in infra-envs of the object's namespace, the newest first: the host is
    /// there, and has left the others.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn of_object(&self, key: &ObjectKey) -> Result<Vec<HostKey>, Error> {
        let Ok(id) = key.name.parse::<HostId>() else { return Ok(Vec::new()) };
        let filter = HostFilter { host_id: Some(id), ..HostFilter::default() };
        let mut rows = self.database.reader().hosts(&filter).await?;
        rows.sort_by_key(|row| row.record.host.registered_at.0);
        let mut found = Vec::new();
        for row in rows.into_iter().rev() {
            let infra_env = self.object_of_infra_env(row.key.infra_env_id).await?;
            if infra_env.is_some_and(|own| own.namespace == key.namespace) {
                found.push(row.key);
            }
        }
        Ok(found)
    }

    /// The object that stands for a host; `None`: nobody describes its infra-env in the Kubernetes API.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn object_of(&self, key: HostKey) -> Result<Option<ObjectKey>, Error> {
        let infra_env = self.object_of_infra_env(key.infra_env_id).await?;
        Ok(infra_env.map(|infra_env| ObjectKey::new(infra_env.namespace, key.host_id.to_string())))
    }

    /// The hosts of an infra-env.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn keys(&self, infra_env_id: InfraEnvId) -> Result<Vec<HostKey>, Error> {
        let filter = HostFilter { infra_env_id: Some(infra_env_id), ..HostFilter::default() };
        let found: Vec<HostRow> = self.database.reader().hosts(&filter).await?;
        Ok(found.into_iter().map(|row| row.key).collect())
    }

    /// A host with what its object needs to know; `None`: there is none, or nobody describes its infra-env.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn described(&self, key: HostKey) -> Result<Option<DescribedHost>, Error> {
        let Some(work) = self.database.load_host_alone(key).await.map_err(final_error)? else {
            return Ok(None);
        };
        let (Some(facts), Some(infra_env)) = (work.host(key), work.infra_env(key.infra_env_id)) else {
            return Ok(None);
        };
        let Some(infra_env) = infra_env.object_key.clone() else { return Ok(None) };
        let cluster = work.cluster();
        Ok(Some(DescribedHost {
            host: render_host(facts, cluster, true),
            infra_env,
            cluster: cluster.map(|record| (render_without_hosts(record), record.object_key.clone())),
            ignition_endpoint_token: facts.record.ignition_endpoint_token.clone(),
            ignition_endpoint_http_headers: facts.record.ignition_endpoint_http_headers.clone(),
            approved: facts.record.approved,
        }))
    }

    /// Notes whether a host's object is approved (state-machines §4.16).
    ///
    /// # Errors
    ///
    /// 404 without the host.
    pub async fn approve(&self, caller: &Caller, host: HostKey, approved: bool) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_approve(caller, host, approved))
    }

    async fn try_approve(&self, caller: &Caller, key: HostKey, approved: bool) -> Result<(), AttemptError> {
        let mut work = self.database.load_host(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(|| no_host(key))?;
        let outcome = approve_host(host, approved, work.facts.now);
        work.merge(outcome);
        work.commit(&self.database).await?;
        Ok(())
    }

    async fn object_of_infra_env(&self, id: InfraEnvId) -> Result<Option<ObjectKey>, Error> {
        let found = self.database.known_infra_env(id).await.map_err(final_error)?;
        Ok(found.and_then(|stored| stored.record.object_key.clone()))
    }
}
