//! A host starts over, or one of its checks does (service-api §6.5).

use assisted_core::decide::host::reset::{reset_host, reset_validation};
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;
use assisted_wire::host::Host;

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_host;
use crate::view::host::raw_host;
use crate::{Caller, Error};

impl Hosts {
    /// Resets a host that is being added to an installed cluster; the cluster shows what follows at once.
    ///
    /// # Errors
    ///
    /// 404 without the host, 409 when it can't be reset.
    pub async fn reset(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        attempt!(self.database, caller, self.try_reset(caller, host))
    }

    async fn try_reset(&self, caller: &Caller, key: HostKey) -> Result<Host, AttemptError> {
        let mut work = self.database.load_host(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(|| no_host(key))?;
        let outcome = reset_host(host, work.facts.now)?;
        work.merge(outcome);
        work.refresh_and_mark().await?;
        let facts = work.commit(&self.database).await?;
        let host = facts.host(key)?;
        Ok(raw_host(host))
    }

    /// Forgets the outcome of a check, so that it is made anew.
    ///
    /// # Errors
    ///
    /// 404 without the host, 500 when it is not bound, 400 when the check can't be repeated.
    pub async fn reset_validation(
        &self,
        caller: &Caller,
        host: HostKey,
        validation_id: &str,
    ) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_reset_host_validation(caller, host, validation_id))
    }

    async fn try_reset_host_validation(
        &self,
        caller: &Caller,
        key: HostKey,
        validation_id: &str,
    ) -> Result<(), AttemptError> {
        let missing = || {
            let HostKey { host_id, infra_env_id } = key;
            Refusal::not_found(format!(
                "Host {host_id} of cluster {infra_env_id} was not found: record not found"
            ))
        };
        let mut work = self.database.load_host(key).await?.ok_or_else(missing)?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(missing)?;
        let outcome = reset_validation(host, validation_id, work.facts.now)?;
        work.merge(outcome);
        work.refresh_and_mark().await?;
        work.commit(&self.database).await?;
        Ok(())
    }
}
