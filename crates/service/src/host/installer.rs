//! What a host's installer is told besides what the service decides (service-api §6.6).

use assisted_core::admission::field::{ignition_config, installer_args};
use assisted_core::catalogue::feature::usage::Overridden;
use assisted_core::model::decision::HostChange;
use assisted_core::model::event::{Spec, catalogue};
use assisted_core::model::host::{HostKey, HostRecord};
use assisted_core::model::refusal::Refusal;
use assisted_wire::embedded;
use assisted_wire::host::Host;
use assisted_wire::host_params::{HostIgnitionParams, InstallerArgsParams};

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_host;
use crate::unit_of_work::UnitOfWork;
use crate::view::host::raw_host;
use crate::{Caller, Error};

impl Hosts {
    /// Sets further arguments of the installer.
    ///
    /// # Errors
    ///
    /// 400 for arguments that are not allowed, whether or not the host exists; 404 without the host.
    pub async fn update_installer_args(
        &self,
        caller: &Caller,
        host: HostKey,
        params: InstallerArgsParams,
    ) -> Result<Host, Error> {
        installer_args::check(params.args.as_deref().unwrap_or_default()).map_err(Refusal::invalid)?;
        let text = embedded::write(&params.args).map_err(Error::internal)?;
        let change = |work: &mut UnitOfWork| {
            change_record(work, host, |record| record.host.installer_args.clone_from(&text));
        };
        attempt!(
            self.database,
            caller,
            self.change_installation(caller, host, &change, &catalogue::HOST_INSTALLER_ARGS_APPLIED)
        )
    }

    /// Sets the Ignition config that is laid over the host's own; an empty one removes it.
    ///
    /// # Errors
    ///
    /// 404 without the host, 400 when the config can't be read.
    pub async fn update_ignition(
        &self,
        caller: &Caller,
        host: HostKey,
        params: HostIgnitionParams,
    ) -> Result<(), Error> {
        self.database
            .load_host_alone(host)
            .await
            .map_err(crate::attempt::final_error)?
            .ok_or_else(|| no_host(host))?;
        if !params.config.is_empty() {
            ignition_config::check(&params.config).map_err(Refusal::invalid)?;
        }
        let change = |work: &mut UnitOfWork| {
            change_record(work, host, |record| {
                record.host.ignition_config_overrides.clone_from(&params.config);
            });
            work.record_usage(|usages| {
                usages.set_ignition_override(Overridden::Host, !params.config.is_empty());
            });
        };
        let event = &catalogue::HOST_DISCOVERY_IGNITION_CONFIG_APPLIED;
        attempt!(self.database, caller, self.change_installation(caller, host, &change, event)).map(drop)
    }

    async fn change_installation(
        &self,
        caller: &Caller,
        key: HostKey,
        change: &(impl Fn(&mut UnitOfWork) + Sync),
        event: &Spec,
    ) -> Result<Host, AttemptError> {
        let mut work = self.database.load_host(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let event = event.of_host(work.host(key).ok_or_else(|| no_host(key))?, &[]);
        change(&mut work);
        work.events.push(event);
        work.refresh_and_mark().await?;
        let facts = work.commit(&self.database).await?;
        let host = facts.host(key)?;
        Ok(raw_host(host))
    }
}

/// Changes the record of a host of the work.
fn change_record(work: &mut UnitOfWork, key: HostKey, change: impl FnOnce(&mut HostRecord)) {
    let Some(host) = work.host(key) else { return };
    let mut record = HostRecord::clone(&host.record);
    change(&mut record);
    work.change_host(HostChange { key, record: Some(record), reports: Vec::new() });
}
