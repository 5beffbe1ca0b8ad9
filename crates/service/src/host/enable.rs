//! A user takes a host out, or in again, or says that its board was changed.

use assisted_core::decide::host::disable::{disable_host, enable_host};
use assisted_core::decide::host::machine::release_machine;
use assisted_core::model::decision::Decision;
use assisted_core::model::facts::HostFacts;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_wire::host::Host;
use jiff::Timestamp;

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_host;
use crate::view::host::raw_host;
use crate::{Caller, Error};

type Change = fn(&HostFacts, Timestamp) -> Result<Decision, RefusalWithEvents>;

impl Hosts {
    /// Takes a host out: it is heard, but takes part in nothing.
    ///
    /// # Errors
    ///
    /// 404 without the host, 409 unless it waits for an installation.
    pub async fn disable(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        attempt!(self.database, caller, self.try_enable(caller, host, disable_host))
    }

    /// Takes a disabled host in again: it is discovered anew.
    ///
    /// # Errors
    ///
    /// 404 without the host, 409 unless it is disabled.
    pub async fn enable(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        attempt!(self.database, caller, self.try_enable(caller, host, enable_host))
    }

    /// Lets the next machine that registers under a host's id be another one than it was: its board was changed.
    ///
    /// # Errors
    ///
    /// 404 without the host.
    pub async fn release_machine(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        attempt!(self.database, caller, self.try_enable(caller, host, release_machine))
    }

    async fn try_enable(&self, caller: &Caller, key: HostKey, change: Change) -> Result<Host, AttemptError> {
        let mut work = self.database.load_host(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let outcome = change(work.host(key).ok_or_else(|| no_host(key))?, work.facts.now)?;
        work.merge(outcome);
        work.refresh_and_mark().await?;
        let facts = work.commit(&self.database).await?;
        let host = facts.host(key)?;
        Ok(raw_host(host))
    }
}
