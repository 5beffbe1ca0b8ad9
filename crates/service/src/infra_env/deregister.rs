//! An infra-env is removed (service-api §5.4).

use assisted_core::model::event::catalogue;
use assisted_core::model::refusal::Refusal;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_store::HostFilter;
use assisted_wire::id::InfraEnvId;

use super::InfraEnvs;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_infra_env;
use crate::{Caller, Error};

impl InfraEnvs {
    /// Removes an infra-env that has no hosts.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 400 while it has hosts.
    pub async fn deregister(&self, caller: &Caller, infra_env_id: InfraEnvId) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_deregister(caller, infra_env_id))
    }

    async fn try_deregister(&self, caller: &Caller, id: InfraEnvId) -> Result<(), AttemptError> {
        let refuse = |refusal: Refusal| {
            let values: &[(&str, &dyn std::fmt::Display)] = &[("error", &refusal.reason)];
            let event = catalogue::INFRA_ENV_DEREGISTER_FAILED.of_infra_env(id, None, values);
            RefusalWithEvents::with_event(refusal, event)
        };
        let stored = self.database.reader().infra_env(id).await?.ok_or_else(|| refuse(no_infra_env(id)))?;
        let filter = HostFilter { infra_env_id: Some(id), ..HostFilter::default() };
        let hosts = self.database.reader().count_hosts(&filter).await?;
        if hosts > 0 {
            let reason = format!("failed to deregister infraEnv {id}, {hosts} hosts are still associated");
            return Err(refuse(Refusal::invalid(reason)).into());
        }
        self.database.remove_infra_env(caller, &stored).await
    }
}
