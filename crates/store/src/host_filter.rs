//! Which hosts are read, and which of their reports.

use assisted_core::model::report::ReportKind;
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};

use crate::row::Deleted;
use crate::statement::Select;
use crate::value::Value;

/// Which hosts; every condition that is set must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFilter {
    pub deleted: Deleted,
    pub infra_env_id: Option<InfraEnvId>,
    pub host_id: Option<HostId>,
    /// With any of these ids; to be used with at most some thousands.
    pub host_ids: Option<Vec<HostId>>,
    pub cluster_id: Option<ClusterId>,
    /// In any of these; to be used with at most some thousands.
    pub cluster_ids: Option<Vec<ClusterId>>,
    pub role: Option<HostRole>,
    pub status: Option<HostStatus>,
    /// Which reports are read along.
    pub reports: Reports,
}

/// Which reports are read along with hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    #[default]
    None,
    Only(Vec<ReportKind>),
    All,
}

/// The filter's conditions on `hosts h`.
pub(crate) fn conditions(select: &mut Select, filter: &HostFilter) {
    select
        .equal("h.infra_env_id", filter.infra_env_id.map(|id| id.0))
        .equal("h.host_id", filter.host_id.map(|id| id.0))
        .equal("h.cluster_id", filter.cluster_id.map(|id| id.0))
        .equal("h.role", filter.role.map(HostRole::as_str))
        .equal("h.status", filter.status.map(HostStatus::as_str));
    if filter.deleted == Deleted::Hidden {
        select.when("h.deleted_at is null");
    }
    if let Some(ids) = &filter.host_ids {
        select.one_of("h.host_id", ids.iter().map(|id| Value::Uuid(id.0)));
    }
    if let Some(ids) = &filter.cluster_ids {
        select.one_of("h.cluster_id", ids.iter().map(|id| Value::Uuid(id.0)));
    }
}
