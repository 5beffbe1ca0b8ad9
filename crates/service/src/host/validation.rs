//! A host's validations with the facts behind them.

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;
use assisted_core::validation::host::evaluate;
use assisted_wire::validation::ValidationList;

use super::Hosts;
use crate::attempt::final_error;
use crate::not_found::no_host;
use crate::{Caller, Error};

impl Hosts {
    /// What each validation of a host finds now.
    ///
    /// # Errors
    ///
    /// 404 when there is no such host; 409 when what is known of it makes no sense, so that it can't be judged.
    pub async fn list_validations(&self, _: &Caller, key: HostKey) -> Result<ValidationList, Error> {
        let work = self.database.load_host(key).await.map_err(final_error)?.ok_or_else(|| no_host(key))?;
        let host = work.host(key).ok_or_else(|| no_host(key))?;
        Ok(evaluate(&work.facts, host).map_err(Refusal::conflict)?.explained())
    }
}
