//! A cluster as the service shows it to its user.

use std::collections::BTreeMap;

use assisted_wire::cluster::{ClusterProgressInfo, ClusterStatus};
use assisted_wire::host::{HostRole, HostStage, HostStatus};
use assisted_wire::id::HostId;
use serde::{Deserialize, Serialize};

use crate::action::Response;

/// A cluster as the service showed it last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClusterView {
    pub status: Option<ClusterStatus>,
    pub status_info: String,
    /// 0–100.
    pub percentage: i64,
    /// Hosts by status.
    pub hosts: BTreeMap<HostStatus, u32>,
    /// Hosts that are being installed, by stage.
    pub stages: BTreeMap<HostStage, u32>,
}

#[derive(Deserialize)]
pub(super) struct ClusterReply {
    pub(super) status: ClusterStatus,
    #[serde(default)]
    pub(super) status_info: String,
    #[serde(default)]
    pub(super) progress: Option<ClusterProgressInfo>,
    #[serde(default)]
    pub(super) hosts: Option<Vec<HostView>>,
}

#[derive(Deserialize)]
pub(super) struct HostView {
    pub(super) id: HostId,
    pub(super) status: HostStatus,
    #[serde(default)]
    role: Option<HostRole>,
    #[serde(default)]
    bootstrap: bool,
    #[serde(default)]
    progress: Option<ProgressView>,
}

impl HostView {
    pub(super) fn role(&self) -> Option<HostRole> {
        if self.bootstrap { Some(HostRole::Bootstrap) } else { self.role }
    }

    pub(super) fn stage(&self) -> Option<HostStage> {
        self.progress.as_ref()?.current_stage
    }
}

#[derive(Deserialize)]
struct ProgressView {
    #[serde(default)]
    current_stage: Option<HostStage>,
}

impl From<ClusterReply> for ClusterView {
    fn from(seen: ClusterReply) -> Self {
        let (mut hosts, mut stages) = (BTreeMap::new(), BTreeMap::new());
        for host in seen.hosts.into_iter().flatten() {
            *hosts.entry(host.status).or_default() += 1;
            if let Some(stage) = host.stage() {
                *stages.entry(stage).or_default() += 1;
            }
        }
        Self {
            status: Some(seen.status),
            status_info: seen.status_info,
            percentage: seen.progress.map_or(0, |progress| progress.total_percentage),
            hosts,
            stages,
        }
    }
}

/// The roles of the hosts of the cluster in an answer.
pub(super) fn roles(answer: &Response) -> Vec<(HostId, HostRole)> {
    let seen = serde_json::from_slice::<ClusterReply>(&answer.body).ok();
    let hosts = seen.into_iter().flat_map(|seen| seen.hosts.unwrap_or_default());
    hosts.filter_map(|host| Some((host.id, host.role()?))).collect()
}

/// The id of what was created.
pub(super) fn id(answer: &Response) -> Result<uuid::Uuid, String> {
    #[derive(Deserialize)]
    struct Created {
        id: uuid::Uuid,
    }
    if !answer.is_success() {
        return Err(reason(answer));
    }
    serde_json::from_slice::<Created>(&answer.body)
        .map(|created| created.id)
        .map_err(|error| error.to_string())
}

/// Why the service refused.
pub fn reason(answer: &Response) -> String {
    #[derive(Deserialize)]
    struct ErrorResponse {
        #[serde(default)]
        reason: String,
        #[serde(default)]
        message: String,
    }
    let ErrorResponse { reason, message } = serde_json::from_slice(&answer.body)
        .unwrap_or(ErrorResponse { reason: String::new(), message: String::new() });
    let said = if reason.is_empty() { message } else { reason };
    format!("{}: {said}", answer.status).trim_end_matches([':', ' ']).to_owned()
}
