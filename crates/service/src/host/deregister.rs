//! A host is removed (service-api §6.3).

use assisted_core::decide::host::registration::deregistered;
use assisted_core::model::host::HostKey;

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::{Caller, Error};

impl Hosts {
    /// Removes a host, in whatever state; its cluster shows it at once.
    ///
    /// # Errors
    ///
    /// 500 when there is no such host (service-api §20.4).
    pub async fn deregister(&self, caller: &Caller, host: HostKey) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_deregister(caller, host))
    }

    async fn try_deregister(&self, caller: &Caller, key: HostKey) -> Result<(), AttemptError> {
        let Some(mut work) = self.database.load_host(key).await? else {
            return Err(assisted_core::model::refusal::Refusal::internal("record not found").into());
        };
        work.request_id = Some(caller.request_id);
        if let Some(host) = work.host(key) {
            let event = deregistered(host);
            work.events.push(event);
        }
        work.remove_host(key);
        if work.cluster().is_some() {
            work.refresh_and_mark();
        }
        work.commit(&self.database).await?;
        Ok(())
    }
}
