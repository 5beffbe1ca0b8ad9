//! A host is removed (service-api §6.3).

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;

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
        match self.database.deregister_host(Some(caller.request_id), key).await? {
            true => Ok(()),
            false => Err(Refusal::internal("record not found").into()),
        }
    }
}
