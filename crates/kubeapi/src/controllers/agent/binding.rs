//! Whether a host joins a cluster or leaves one (kube-api §6.4.1, §6.4.3).

use assisted_wire::host::{Host, HostKind, HostStatus};
use assisted_wire::id::ClusterId;

use crate::sync_error::SyncError;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is where it is to be.
    Stay,
    Bind(ClusterId),
    /// It leaves its cluster; whether it joins another is seen when it has left.
    Unbind,
}

/// The step for a host that is to be in the cluster `wanted`, or in none.
///
/// # Errors
/// `Input` when a host of an installation that has begun is to leave it, `Backend` as long as a host is on its way into a cluster.
pub(super) fn step(host: &Host, wanted: Option<ClusterId>) -> Result<Step, SyncError> {
    match (host.cluster_id, wanted) {
        (None, None) => Ok(Step::Stay),
        (Some(bound), Some(wanted)) if bound == wanted => Ok(Step::Stay),
        (None, Some(wanted)) if host.status == HostStatus::KnownUnbound => Ok(Step::Bind(wanted)),
        // It is not judged yet, or has not left its last cluster.
        (None, Some(_)) => Ok(Step::Stay),
        (Some(_), _)
            if is_being_installed(host.status) && host.kind != HostKind::AddToExistingClusterHost =>
        {
            Err(SyncError::input(format!(
                "cancelling non-day-2 host [{}] in the middle of installation is not allowed",
                host.id
            )))
        }
        // No rule leads out of this state but that it boots, and then it can leave.
        (Some(_), _) if host.status == HostStatus::Binding => Err(SyncError::backend(format!(
            "host {} is binding to a cluster, and leaves it as soon as it has registered there",
            host.id
        ))),
        (Some(_), _) => Ok(Step::Unbind),
    }
}

fn is_being_installed(status: HostStatus) -> bool {
    use HostStatus::{
        Installing, InstallingInProgress, InstallingPendingUserAction, PreparingFailed,
        PreparingForInstallation, PreparingSuccessful,
    };
    matches!(
        status,
        PreparingForInstallation
            | PreparingFailed
            | PreparingSuccessful
            | Installing
            | InstallingInProgress
            | InstallingPendingUserAction
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host(status: &str, kind: &str, cluster: Option<ClusterId>) -> Host {
        let at = "2024-01-01T00:00:00.000Z";
        serde_json::from_value(json!({
            "kind": kind, "id": "33333333-3333-4333-8333-333333333333", "href": "", "status": status,
            "status_info": "", "cluster_id": cluster, "created_at": at, "updated_at": at,
        }))
        .unwrap()
    }

    #[test]
    fn steps() {
        let (one, other) = (ClusterId::random(), ClusterId::random());
        let day2 = "AddToExistingClusterHost";
        for (host, wanted, expected) in [
            (host("known-unbound", "Host", None), None, Some(Step::Stay)),
            (host("known-unbound", "Host", None), Some(one), Some(Step::Bind(one))),
            (host("discovering-unbound", "Host", None), Some(one), Some(Step::Stay)),
            (host("unbinding-pending-user-action", "Host", None), Some(one), Some(Step::Stay)),
            (host("known", "Host", Some(one)), Some(one), Some(Step::Stay)),
            (host("known", "Host", Some(one)), Some(other), Some(Step::Unbind)),
            (host("installed", "Host", Some(one)), None, Some(Step::Unbind)),
            (host("installing", "Host", Some(one)), None, None),
            (host("installing", day2, Some(one)), None, Some(Step::Unbind)),
            (host("binding", "Host", Some(one)), Some(one), Some(Step::Stay)),
            (host("binding", "Host", Some(one)), None, None),
        ] {
            let found = step(&host, wanted);
            assert_eq!(found.as_ref().ok(), expected.as_ref(), "{host:?} {found:?}");
            if let Err(problem) = found {
                let text = match host.status {
                    HostStatus::Binding => "as soon as it has registered there",
                    _ => "in the middle of installation is not allowed",
                };
                assert!(problem.text.contains(text), "{problem}");
            }
        }
    }
}
