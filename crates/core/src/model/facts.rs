//! The facts that a decision is made from: records, reports, policy and the time.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_wire::host::HostStatus::{self, Disabled, DisabledUnbound};
use assisted_wire::host::{HostKind, HostRole};
use assisted_wire::id::InfraEnvId;
use assisted_wire::inventory::Inventory;
use jiff::Timestamp;

use crate::model::cluster::ClusterRecord;
use crate::model::connectivity_report::ParsedConnectivity;
use crate::model::copy_on_write::CopyOnWrite;
use crate::model::host::{HostKey, HostRecord};
use crate::model::infra_env::InfraEnvRecord;
use crate::model::refusal::Refusal;
use crate::model::report::ReportKind;
use crate::policy::Policy;

/// A cluster with its hosts, or one unbound host, at one moment.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The cluster; `None` when the only host is unbound.
    pub cluster: Option<ClusterRecord>,
    /// The cluster's hosts in order of creation, or the unbound host.
    pub hosts: Vec<HostFacts>,
    /// The infra-envs of the hosts.
    pub infra_envs: BTreeMap<InfraEnvId, InfraEnvRecord>,
    /// What an administrator decides for all clusters.
    pub policy: Arc<Policy>,
    /// The moment at which the decision is made.
    pub now: Timestamp,
}

impl Facts {
    /// The facts without the hosts that a user took out: what is counted, judged and installed.
    pub fn without_disabled(mut self) -> Self {
        self.hosts.retain(takes_part);
        self
    }

    /// One of the hosts.
    ///
    /// # Errors
    ///
    /// `NotFound` when it is not among them.
    pub fn host(&self, key: HostKey) -> Result<&HostFacts, Refusal> {
        let found = self.hosts.iter().find(|host| host.key() == key);
        found.ok_or_else(|| Refusal::not_found(format!("Host {} not found", key.host_id)))
    }
}

/// A host with its reports.
#[derive(Clone, Debug)]
pub struct HostFacts {
    pub record: CopyOnWrite<HostRecord>,
    /// When the agent was last heard.
    pub checked_in_at: Timestamp,
    /// Texts of the reports that there are.
    pub reports: CopyOnWrite<BTreeMap<ReportKind, Arc<str>>>,
    /// The inventory, parsed; `None` when there is none or it can't be read.
    pub inventory: Option<Arc<Inventory>>,
    /// What the connectivity report says, parsed; `None` when there is none or it can't be read.
    pub connectivity: Option<Arc<ParsedConnectivity>>,
    revision: Option<Revision>,
}

/// A host's record and reports as they are stored, and the number under which they are.
#[derive(Clone, Debug)]
struct Revision {
    number: u64,
    record: CopyOnWrite<HostRecord>,
    reports: CopyOnWrite<BTreeMap<ReportKind, Arc<str>>>,
}

impl HostFacts {
    /// A host without reports.
    pub fn new(record: HostRecord, checked_in_at: Timestamp) -> Self {
        Self {
            record: record.into(),
            checked_in_at,
            reports: CopyOnWrite::default(),
            inventory: None,
            connectivity: None,
            revision: None,
        }
    }

    /// Puts a report in place of the old one; an empty text removes it.
    pub fn put_report(&mut self, kind: ReportKind, text: Arc<str>) {
        if text.is_empty() {
            self.reports.remove(&kind);
        } else {
            self.reports.insert(kind, text);
        }
        self.parse(kind);
    }

    /// Brings what is parsed of a report in step with its text.
    fn parse(&mut self, kind: ReportKind) {
        let text = self.report(kind);
        match kind {
            ReportKind::Inventory => self.inventory = read_inventory(text).map(Arc::new),
            ReportKind::Connectivity => self.connectivity = ParsedConnectivity::parse(text).map(Arc::new),
            _ => {}
        }
    }

    /// Says that the record and the reports are stored as they are now. As often as they are stored otherwise, the number is
    /// another one.
    pub fn set_revision(&mut self, number: u64) {
        let (record, reports) = (self.record.clone(), self.reports.clone());
        self.revision = Some(Revision { number, record, reports });
    }

    /// The number under which record and reports are stored; `None`: they were changed since, or are not stored.
    pub fn revision(&self) -> Option<u64> {
        let known = self.revision.as_ref()?;
        let is_same = known.record.is_same(&self.record) && known.reports.is_same(&self.reports);
        is_same.then_some(known.number)
    }

    /// The host's identity.
    pub fn key(&self) -> HostKey {
        HostKey {
            infra_env_id: self.record.host.infra_env_id.unwrap_or_default(),
            host_id: self.record.host.id,
        }
    }

    /// The name that people know the host by: what was asked for, else what it calls itself, else its id.
    pub fn name(&self) -> String {
        let own = self.inventory.as_ref().map_or("", |inventory| inventory.hostname.as_str());
        match (self.record.host.requested_hostname.as_str(), own) {
            ("", "") => self.record.host.id.to_string(),
            ("", own) => own.to_owned(),
            (requested, _) => requested.to_owned(),
        }
    }

    /// The role that counts: what was asked for, else what was suggested.
    pub fn effective_role(&self) -> HostRole {
        let host = &self.record.host;
        match host.role.unwrap_or(HostRole::AutoAssign) {
            HostRole::AutoAssign => host.suggested_role.unwrap_or(HostRole::AutoAssign),
            role => role,
        }
    }

    /// Whether the host joins a cluster that is installed already.
    pub fn is_day2(&self) -> bool {
        self.record.host.kind == HostKind::AddToExistingClusterHost
    }

    /// Text of a report; empty when there is none.
    pub fn report(&self, kind: ReportKind) -> &str {
        self.reports.get(&kind).map_or("", AsRef::as_ref)
    }
}

/// Taken out by a user: such a host is heard, but no rule looks at it.
pub const DISABLED: &[HostStatus] = &[Disabled, DisabledUnbound];

/// Whether the host takes part: in validations, roles, counts, and the installation.
pub fn takes_part(host: &HostFacts) -> bool {
    !DISABLED.contains(&host.record.host.status)
}

/// Reads an inventory; `None` unless it is one.
pub fn read_inventory(text: &str) -> Option<Inventory> {
    serde_json::from_str(text).ok()
}
