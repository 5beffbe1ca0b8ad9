//! A host whose row is lost is made anew from what its object of the Kubernetes API has kept (kube-api §6.4.8).

use assisted_core::decide::host::machine::Origin;
use assisted_core::decide::host::registration::register_host;
use assisted_core::model::decision::HostChange;
use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_core::model::refusal::Refusal;
use assisted_core::model::report::ReportKind;
use assisted_store::{Deleted, Due, HostFilter};
use assisted_wire::host::{HostProgressInfo, HostRole, HostStage, HostStatus};
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::ClusterId;
use jiff::Timestamp;

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::{no_cluster, no_infra_env};
use crate::{Caller, Error};

/// What is known of a lost host.
#[derive(Clone, Debug)]
pub struct LostHost {
    pub cluster_id: Option<ClusterId>,
    pub status: HostStatus,
    pub role: Option<HostRole>,
    pub stage: Option<HostStage>,
    /// When it registered.
    pub registered_at: Timestamp,
    /// Reports as the host or the service wrote them; empty where there is none.
    pub inventory: String,
    pub validations_info: String,
}

impl Hosts {
    /// Makes a row anew; one that was deleted gives way to it. A host that is there stays as it is.
    ///
    /// # Errors
    ///
    /// 404 without its infra-env or its cluster, 409 when the host is one of an object of another namespace.
    pub async fn restore(&self, caller: &Caller, key: HostKey, lost: &LostHost) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_restore(caller, key, lost))
    }

    async fn try_restore(&self, caller: &Caller, key: HostKey, lost: &LostHost) -> Result<(), AttemptError> {
        let infra_env = self.database.known_infra_env(key.infra_env_id).await?;
        let infra_env = infra_env.ok_or_else(|| no_infra_env(key.infra_env_id))?;
        let row = self.database.reader().host(key, Deleted::Shown).await?;
        if row.as_ref().is_some_and(|row| row.record.host.deleted_at.is_none()) {
            return Ok(());
        }
        if let Some(object) = &infra_env.record.object_key {
            self.check_namespace(key, object).await?;
        }
        let mut work = match lost.cluster_id {
            Some(id) => self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?,
            None => self.database.blank_work(),
        };
        work.request_id = Some(caller.request_id);
        let params = HostCreateParams { host_id: key.host_id, discovery_agent_version: String::new() };
        let now = work.facts.now;
        let registered = register_host(
            None,
            &infra_env.record,
            None,
            &params,
            &caller.user_name,
            &Origin::default(),
            now,
        )?;
        let mut record = registered.host;
        let host = &mut record.host;
        (host.cluster_id, host.status) = (lost.cluster_id, lost.status);
        (host.role, host.suggested_role) = (lost.role, lost.role);
        (host.registered_at, host.checked_in_at) = (lost.registered_at.into(), lost.registered_at.into());
        host.progress = lost
            .stage
            .map(|stage| HostProgressInfo { current_stage: Some(stage), ..HostProgressInfo::default() });
        if row.is_some() {
            work.batch.delete_host(key);
        }
        work.add_new(record);
        let reports =
            [(ReportKind::Inventory, &lost.inventory), (ReportKind::ValidationsInfo, &lost.validations_info)];
        let reports = reports.into_iter().filter(|(_, text)| !text.is_empty());
        let reports = reports.map(|(kind, text)| (kind, text.as_str().into())).collect();
        work.change_host(HostChange { key, record: None, reports });
        let due = lost.cluster_id.map_or(Due::Host(key), Due::Cluster);
        work.batch.mark_due(due, now);
        work.commit(&self.database).await?;
        self.database.ensure_infra_env(caller, key).await
    }

    /// A host that is there in another namespace is that one's: an object that somebody has copied makes no second one of it.
    async fn check_namespace(&self, key: HostKey, infra_env: &ObjectKey) -> Result<(), AttemptError> {
        let filter = HostFilter { host_id: Some(key.host_id), ..HostFilter::default() };
        for row in self.database.reader().hosts(&filter).await? {
            let HostKey { infra_env_id, host_id } = row.key;
            let known = self.database.known_infra_env(infra_env_id).await?;
            let own = known.as_ref().and_then(|known| known.record.object_key.as_ref());
            if let Some(own) = own.filter(|own| own.namespace != infra_env.namespace) {
                let namespace = &own.namespace;
                return Err(Refusal::conflict(format!(
                    "Host with ID {host_id} already exists in infraEnv {infra_env_id} (namespace: {namespace}). \
                     Cannot restore."
                ))
                .into());
            }
        }
        Ok(())
    }
}
