//! Everything that a decision may look at.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_wire::id::InfraEnvId;
use assisted_wire::inventory::Inventory;
use jiff::Timestamp;

use crate::cluster::record::ClusterRecord;
use crate::host::record::{HostKey, HostRecord};
use crate::host::report::ReportKind;
use crate::infra_env::record::InfraEnvRecord;
use crate::settings::Settings;

/// A cluster with its hosts, or one unbound host, at one moment.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The cluster; `None` when the only host is unbound.
    pub cluster: Option<ClusterRecord>,
    /// The cluster's hosts in order of creation, or the unbound host.
    pub hosts: Vec<HostFacts>,
    /// The infra-envs of the hosts.
    pub infra_envs: BTreeMap<InfraEnvId, InfraEnvRecord>,
    /// The service's settings.
    pub settings: Arc<Settings>,
    /// The moment at which the decision is made.
    pub now: Timestamp,
}

/// A host with its reports.
#[derive(Clone, Debug)]
pub struct HostFacts {
    pub record: HostRecord,
    /// When the agent was last heard.
    pub checked_in_at: Timestamp,
    /// Texts of the reports that there are.
    pub reports: BTreeMap<ReportKind, Arc<str>>,
    /// The inventory, parsed; `None` when there is none or it can't be read.
    pub inventory: Option<Arc<Inventory>>,
}

impl HostFacts {
    /// The host's identity.
    pub fn key(&self) -> HostKey {
        HostKey {
            infra_env_id: self.record.host.infra_env_id.unwrap_or_default(),
            host_id: self.record.host.id,
        }
    }

    /// Text of a report; empty when there is none.
    pub fn report(&self, kind: ReportKind) -> &str {
        self.reports.get(&kind).map_or("", AsRef::as_ref)
    }
}
