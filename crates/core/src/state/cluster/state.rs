//! The states of clusters: sets of them that rules speak of, and the change from one to another.

use assisted_wire::cluster::ClusterStatus::{self, *};
use jiff::Timestamp;

use crate::model::cluster::ClusterRecord;
use crate::model::event::{NewEvent, catalogue};

/// A cluster is described; its networks and groups are worked out.
pub const DESCRIBED: &[ClusterStatus] = &[PendingForInput, Ready, Insufficient];

/// Hosts are being installed, or the cluster that they make up is settling.
pub const INSTALLING: &[ClusterStatus] = &[Installing, InstallingPendingUserAction, Finalizing];

/// A list of states as refusals show it: `[a b c]`.
pub fn list(states: &[ClusterStatus]) -> String {
    let texts: Vec<_> = states.iter().map(|state| state.as_str()).collect();
    format!("[{}]", texts.join(" "))
}

/// Puts a cluster into a state, with a text; emits an event only when the state is another one.
pub(crate) fn enter(
    record: &mut ClusterRecord,
    to: ClusterStatus,
    info: &str,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) {
    let cluster = &mut record.cluster;
    info.clone_into(&mut cluster.status_info);
    if cluster.status == to {
        return;
    }
    cluster.status = to;
    cluster.status_updated_at = now.into();
    if matches!(to, Installed | Error | Cancelled) {
        cluster.install_completed_at = now.into();
    }
    let values: &[(&str, &dyn std::fmt::Display)] = &[("cluster_status", &to), ("status_info", &info)];
    events.push(catalogue::CLUSTER_STATUS_UPDATED.of_cluster(cluster.id, values));
}
