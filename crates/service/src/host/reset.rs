//! A host starts over, or one of its checks does (service-api §6.5).

use std::collections::BTreeMap;

use assisted_core::facts::HostFacts;
use assisted_core::host::record::HostKey;
use assisted_core::host::report::ReportKind;
use assisted_core::host::reset::reset_host;
use assisted_core::refresh::HostChange;
use assisted_core::refusal::Refusal;
use assisted_wire::embedded;
use assisted_wire::host::{DiskInfo, Host, HostValidationId};

use super::no_host;
use super::view::raw_host;
use crate::fault::{Fault, attempt};
use crate::{Caller, Error, Service};

impl Service {
    /// Resets a host that is being added to an installed cluster.
    ///
    /// # Errors
    ///
    /// 404 without the host, 409 when it can't be reset.
    pub async fn reset_host(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        attempt!(self, caller, self.try_reset_host(caller, host))
    }

    async fn try_reset_host(&self, caller: &Caller, key: HostKey) -> Result<Host, Fault> {
        let mut work = self.load_host_alone(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(|| no_host(key))?;
        let outcome = reset_host(host, work.facts.now)?;
        work.absorb(outcome);
        work.mark_due();
        let facts = work.commit(self).await?;
        facts.hosts.first().map(raw_host).ok_or_else(|| no_host(key).into())
    }

    /// Forgets the outcome of a check, so that it is made anew.
    ///
    /// # Errors
    ///
    /// 404 without the host, 500 when it is not bound, 400 when the check can't be repeated.
    pub async fn reset_host_validation(
        &self,
        caller: &Caller,
        host: HostKey,
        validation_id: &str,
    ) -> Result<(), Error> {
        attempt!(self, caller, self.try_reset_host_validation(caller, host, validation_id))
    }

    async fn try_reset_host_validation(
        &self,
        caller: &Caller,
        key: HostKey,
        validation_id: &str,
    ) -> Result<(), Fault> {
        let missing = || {
            let HostKey { host_id, infra_env_id } = key;
            Refusal::not_found(format!(
                "Host {host_id} of cluster {infra_env_id} was not found: record not found"
            ))
        };
        let mut work = self.load_host(key).await?.ok_or_else(missing)?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(missing)?;
        if host.record.host.cluster_id.is_none() {
            let reason = format!("host {} is not bound to any cluster, reset validation", key.host_id);
            return Err(Refusal::new(500, reason).into());
        }
        let report = match validation_id.parse() {
            Ok(HostValidationId::SufficientInstallationDiskSpeed) => {
                (ReportKind::DisksInfo, without_boot_disk(host)?)
            }
            Ok(HostValidationId::ContainerImagesAvailable) => (ReportKind::ImagesStatus, String::new()),
            _ => {
                let reason = format!("Validation \"{validation_id}\" cannot be reset or does not exist");
                return Err(Refusal::bad_request(reason).into());
            }
        };
        work.change_host(HostChange { key, record: None, reports: vec![report] });
        work.refresh_and_mark();
        work.commit(self).await?;
        Ok(())
    }
}

/// What was measured of the host's disks, without the one that is installed onto.
fn without_boot_disk(host: &HostFacts) -> Result<String, Error> {
    let fields = &host.record.host;
    let disk = if fields.installation_disk_id.is_empty() {
        &fields.installation_disk_path
    } else {
        &fields.installation_disk_id
    };
    let known: Option<BTreeMap<String, DiskInfo>> =
        embedded::read(host.report(ReportKind::DisksInfo)).map_err(Error::internal)?;
    let Some(mut known) = known else { return Ok(String::new()) };
    known.remove(disk);
    embedded::write(&known).map_err(Error::internal)
}
