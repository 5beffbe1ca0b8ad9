//! A host is installed into a cluster that runs already, and hosts report how far their installation is (service-api §6.5, §6.8).

use assisted_core::decide::host::install::may_install;
use assisted_core::decide::host::progress::{Progressed, update};
use assisted_core::decide::install::install_host;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;
use assisted_store::Deleted;
use assisted_wire::host::{Host, HostProgress};

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::generator::{GenerateError, ignition_name};
use crate::not_found::no_host;
use crate::stored_file::generated_key;
use crate::view::host::raw_host;
use crate::{Caller, Error};

impl Hosts {
    /// Installs a host that joins an installed cluster.
    ///
    /// # Errors
    ///
    /// 404 without the host or its cluster, 409 when it can't be installed now, 500 when
    /// generating fails.
    pub async fn install(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        attempt!(self.database, caller, self.try_install(caller, host))
    }

    async fn try_install(&self, caller: &Caller, host_key: HostKey) -> Result<Host, AttemptError> {
        let missing = || no_host(host_key);
        let mut work = self.database.load_host(host_key).await?.ok_or_else(missing)?;
        work.request_id = Some(caller.request_id);
        let host = work.host(host_key).ok_or_else(missing)?;
        may_install(host)?;
        let decided = install_host(&work.facts, host_key)?;
        // Before the host is told to install: it fetches the file at once.
        let ignition = self.generator.host_ignition(&work.facts, host_key).await;
        let ignition = ignition.map_err(|error| match error {
            GenerateError::Refused(reason) => Refusal::internal(reason).into(),
            GenerateError::Broken(error) => AttemptError::Failed(error),
        })?;
        work.apply_and_mark(decided);
        let host = work.host(host_key).ok_or_else(missing)?;
        if let Some(record) = work.cluster() {
            let file = generated_key(record, &ignition_name(host))?;
            self.blob.put(&file, ignition).await.map_err(Error::from)?;
        }
        let facts = work.commit(&self.database).await?;
        let host = facts.host(host_key)?;
        Ok(raw_host(host))
    }

    /// Notes how far the installation of a host is; its cluster shows what follows at once.
    ///
    /// # Errors
    ///
    /// 404 without the host, 400 when it is not bound or no stage is given, 409 when it can't be in that stage.
    pub async fn update_install_progress(
        &self,
        caller: &Caller,
        host: HostKey,
        progress: HostProgress,
    ) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_update_progress(caller, host, &progress))
    }

    async fn try_update_progress(
        &self,
        caller: &Caller,
        key: HostKey,
        progress: &HostProgress,
    ) -> Result<(), AttemptError> {
        let mut work = self.database.load_host_alone(key).await?.ok_or_else(|| no_host(key))?;
        let mut progressed = update(&work.facts, key, progress)?;
        // With another stage the cluster is further, too, and whoever reads it after the answer finds it so. How much of a stage
        // is done only puts off what the clock would do: then the cluster is looked at when that was due.
        let cluster_id = work.cluster().map(|record| record.cluster.id);
        let turn = self.reports.lock_soon(cluster_id.filter(|_| progressed.stage_changed)).await;
        let mut is_whole = false;
        if let (Some(_), Some(id)) = (&turn, cluster_id)
            && let Some(whole) = self.database.load_cluster(id, Deleted::Hidden).await?
            && whole.host(key).is_some()
        {
            progressed = update(&whole.facts, key, progress)?;
            (work, is_whole) = (whole, true);
        }
        work.request_id = Some(caller.request_id);
        let Progressed { decision, stage_changed } = progressed;
        work.merge(decision);
        match (stage_changed, is_whole) {
            (true, true) => work.refresh_and_mark().await?,
            (true, false) => work.mark_due(),
            (false, _) => {}
        }
        work.commit(&self.database).await?;
        Ok(())
    }
}
