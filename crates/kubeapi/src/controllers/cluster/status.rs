//! What an AgentClusterInstall shows (kube-api §6.1.11, §7.1).

use std::collections::BTreeMap;

use assisted_crd::agent_install::conditions::agent::SPEC_SYNCED_OK;
use assisted_crd::common::{DebugInfo, ValidationResult};
use assisted_crd::condition::{Statement, find, set};
use assisted_crd::hive_extensions::agent_cluster_install::{
    AgentClusterInstallStatus, ClusterProgress, MachineNetwork, PlatformType,
};
use assisted_crd::hive_extensions::conditions::{
    agent_cluster_install as conditions, on_cluster_layering as layering,
};
use assisted_wire::cluster::{Cluster, ClusterStatus, InstallationPreparationStatus};
use assisted_wire::on_cluster_layering::{LayeringState, LayeringStatus};
use assisted_wire::platform;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::ready::{Counts, Roles};
use crate::controllers::validations;
use crate::sync_error::{Class, SyncError};

/// The operator whose state is that of the cluster's version.
const CLUSTER_VERSION: &str = "cvo";

/// What the status is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    /// The cluster, once there is one.
    pub(super) cluster: Option<&'a Cluster>,
    /// What stands in the way of what the objects say.
    pub(super) problem: Option<&'a SyncError>,
    /// Whether the installation waits for somebody's word.
    pub(super) held: bool,
    pub(super) wanted: Roles,
    pub(super) counts: &'a Counts,
    /// Where events and logs are found; logs once there are some.
    pub(super) events_url: &'a str,
    pub(super) logs_url: Option<&'a str>,
    /// How the images of its nodes are, in image mode.
    pub(super) images: Option<&'a LayeringState>,
}

/// The status that the object is to show; `before` is the one that it shows.
pub(super) fn status(
    before: Option<&AgentClusterInstallStatus>,
    seen: &Observed<'_>,
    now: &Time,
) -> AgentClusterInstallStatus {
    let mut status = before.cloned().unwrap_or_default();
    let mut statements = vec![spec_synced(seen.problem)];
    match seen.cluster {
        None => {
            status.debug_info = Some(DebugInfo::default());
            statements.extend(not_available());
        }
        Some(cluster) => {
            fill(&mut status, seen, cluster);
            let results = validations::read(&cluster.validations_info);
            statements.extend([
                requirements_met(seen, cluster),
                validated(cluster, &results),
                completed(seen, cluster),
                failed(cluster),
                stopped(cluster),
                last_preparation(cluster),
            ]);
            statements.extend(images(&status, seen.images));
            status.validations_info = results;
        }
    }
    for statement in statements {
        set(&mut status.conditions, statement, now);
    }
    status
}

/// What is said of a cluster of which nothing is known.
pub(in crate::controllers) fn not_available() -> [Statement; 5] {
    [
        conditions::VALIDATED_NOT_AVAILABLE,
        conditions::REQUIREMENTS_MET_NOT_AVAILABLE,
        conditions::COMPLETED_NOT_AVAILABLE,
        conditions::FAILED_NOT_AVAILABLE,
        conditions::STOPPED_NOT_AVAILABLE,
    ]
    .map(|outcome| outcome.with(&[]))
}

/// Whether what the objects say has come to the cluster. The message is the documented sentence, as for Agents (kube-api §16.1).
pub(in crate::controllers) fn spec_synced(problem: Option<&SyncError>) -> Statement {
    match problem {
        None => SPEC_SYNCED_OK.with(&[]),
        Some(SyncError { class: Class::Input, text }) => conditions::SPEC_SYNCED_INPUT_ERROR.with(&[text]),
        Some(SyncError { class: Class::Backend, text }) => {
            conditions::SPEC_SYNCED_BACKEND_ERROR.with(&[text])
        }
    }
}

fn fill(status: &mut AgentClusterInstallStatus, seen: &Observed<'_>, cluster: &Cluster) {
    status.connectivity_majority_groups.clone_from(&cluster.connectivity_majority_groups);
    let networks = cluster.machine_networks.iter().flatten();
    status.machine_network =
        networks.map(|network| MachineNetwork { cidr: network.cidr.0.clone() }).collect();
    status.api_vips = cluster.api_vips.iter().flatten().map(|vip| vip.ip.0.clone()).collect();
    status.ingress_vips = cluster.ingress_vips.iter().flatten().map(|vip| vip.ip.0.clone()).collect();
    status.api_vip = status.api_vips.first().cloned().unwrap_or_default();
    status.ingress_vip = status.ingress_vips.first().cloned().unwrap_or_default();
    status.user_managed_networking = cluster.user_managed_networking;
    status.platform_type = cluster.platform.as_ref().map(|platform| platform_type(platform.r#type));
    let progress = cluster.progress.as_ref().map_or(0, |progress| progress.total_percentage);
    status.progress = Some(ClusterProgress { total_percentage: progress });
    let debug = status.debug_info.get_or_insert_default();
    cluster.status.as_str().clone_into(&mut debug.state);
    debug.state_info.clone_from(&cluster.status_info);
    if cluster.status != ClusterStatus::Installed {
        // Written once: their tokens change from day to day.
        if debug.events_url.is_empty() {
            seen.events_url.clone_into(&mut debug.events_url);
        }
        if let Some(url) = seen.logs_url.filter(|_| debug.logs_url.is_empty()) {
            url.clone_into(&mut debug.logs_url);
        }
    }
}

fn platform_type(kind: platform::PlatformType) -> PlatformType {
    match kind {
        platform::PlatformType::Baremetal => PlatformType::BareMetal,
        platform::PlatformType::None => PlatformType::None,
        platform::PlatformType::Vsphere => PlatformType::VSphere,
        platform::PlatformType::Nutanix => PlatformType::Nutanix,
        platform::PlatformType::External => PlatformType::External,
    }
}

fn requirements_met(seen: &Observed<'_>, cluster: &Cluster) -> Statement {
    use ClusterStatus::{
        AddingHosts, Error, Finalizing, Installed, Installing, InstallingPendingUserAction, Insufficient,
        PendingForInput, PreparingForInstallation, Ready,
    };
    match cluster.status {
        Ready => {
            let Observed { wanted, counts, .. } = seen;
            if counts.known != *wanted {
                let numbers = [
                    wanted.masters,
                    wanted.arbiters,
                    wanted.workers,
                    counts.known.masters,
                    counts.known.arbiters,
                    counts.known.workers,
                ]
                .map(|number| number.to_string());
                let numbers = numbers.each_ref().map(String::as_str);
                return conditions::REQUIREMENTS_MET_INSUFFICIENT_AGENTS.with(&numbers);
            }
            if counts.unsynced > 0 {
                return conditions::REQUIREMENTS_MET_UNSYNCED_AGENTS.with(&[&counts.unsynced.to_string()]);
            }
            let missing = wanted.total() - counts.approved;
            if missing > 0 {
                return conditions::REQUIREMENTS_MET_UNAPPROVED_AGENTS.with(&[&missing.to_string()]);
            }
            conditions::REQUIREMENTS_MET_CLUSTER_IS_READY.with(&[])
        }
        Insufficient | PendingForInput => conditions::REQUIREMENTS_MET_CLUSTER_NOT_READY.with(&[]),
        PreparingForInstallation | Installing | InstallingPendingUserAction | AddingHosts | Finalizing => {
            conditions::REQUIREMENTS_MET_CLUSTER_ALREADY_INSTALLING.with(&[])
        }
        Installed | Error => conditions::REQUIREMENTS_MET_CLUSTER_INSTALLATION_STOPPED.with(&[]),
        other => conditions::REQUIREMENTS_MET_UNKNOWN_STATUS.with(&[other.as_str()]),
    }
}

fn validated(cluster: &Cluster, results: &BTreeMap<String, Vec<ValidationResult>>) -> Statement {
    let failing = || validations::messages(results, |status| status != "success");
    match cluster.status {
        _ if results.is_empty() => conditions::VALIDATED_VALIDATIONS_UNKNOWN.with(&[]),
        ClusterStatus::Insufficient => conditions::VALIDATED_VALIDATIONS_FAILING.with(&[&failing()]),
        ClusterStatus::PendingForInput => conditions::VALIDATED_VALIDATIONS_USER_PENDING.with(&[&failing()]),
        _ => conditions::VALIDATED_VALIDATIONS_PASSING.with(&[]),
    }
}

fn completed(seen: &Observed<'_>, cluster: &Cluster) -> Statement {
    use ClusterStatus::{
        AddingHosts, Error, Finalizing, Installed, Installing, InstallingPendingUserAction, Insufficient,
        PendingForInput, PreparingForInstallation, Ready,
    };
    let info = cluster.status_info.as_str();
    match cluster.status {
        Installed | AddingHosts => conditions::COMPLETED_INSTALLATION_COMPLETED.with(&[info]),
        Error => conditions::COMPLETED_INSTALLATION_FAILED.with(&[info]),
        Ready if seen.held => conditions::COMPLETED_INSTALLATION_ON_HOLD.with(&[]),
        Ready | Insufficient | PendingForInput => conditions::COMPLETED_INSTALLATION_NOT_STARTED.with(&[]),
        PreparingForInstallation | Installing | Finalizing | InstallingPendingUserAction => {
            let operators = cluster.monitored_operators.iter().flatten();
            let version = operators.clone().find(|operator| operator.name == CLUSTER_VERSION);
            let version = version.and_then(|operator| Some((operator.status?, &operator.status_info)));
            let info = match version {
                Some((status, message)) => {
                    format!("{info}. Cluster version status: {status}, message: {message}")
                }
                None => info.to_owned(),
            };
            conditions::COMPLETED_INSTALLATION_IN_PROGRESS.with(&[&info])
        }
        other => conditions::COMPLETED_UNKNOWN_STATUS.with(&[other.as_str()]),
    }
}

fn failed(cluster: &Cluster) -> Statement {
    match cluster.status {
        ClusterStatus::Error => conditions::FAILED_INSTALLATION_FAILED.with(&[&cluster.status_info]),
        _ => conditions::FAILED_INSTALLATION_NOT_FAILED.with(&[]),
    }
}

fn stopped(cluster: &Cluster) -> Statement {
    match cluster.status {
        ClusterStatus::Error => conditions::STOPPED_INSTALLATION_FAILED.with(&[]),
        ClusterStatus::Cancelled => conditions::STOPPED_INSTALLATION_CANCELLED.with(&[]),
        ClusterStatus::Installed | ClusterStatus::AddingHosts => {
            conditions::STOPPED_INSTALLATION_COMPLETED.with(&[])
        }
        _ => conditions::STOPPED_INSTALLATION_NOT_STOPPED.with(&[]),
    }
}

fn last_preparation(cluster: &Cluster) -> Statement {
    use InstallationPreparationStatus::{Failed, NotStarted, Success};
    let last = cluster.last_installation_preparation.as_ref();
    match last.and_then(|last| Some((last.status?, &last.reason))) {
        None | Some((NotStarted, _)) => conditions::LAST_INSTALLATION_PREPARATION_FAILED_NEVER.with(&[]),
        Some((Success, _)) => conditions::LAST_INSTALLATION_PREPARATION_FAILED_NO.with(&[]),
        Some((Failed, reason)) => conditions::LAST_INSTALLATION_PREPARATION_FAILED_YES.with(&[reason]),
    }
}

/// How the images are. Of a cluster that never was in image mode nothing is said.
fn images(status: &AgentClusterInstallStatus, images: Option<&LayeringState>) -> Option<Statement> {
    use LayeringStatus::{Adopted, Adopting, Building, Disabled, Failed, Pending, Ready};
    let Some(images) = images.filter(|images| images.status != Disabled) else {
        let is_told = find(&status.conditions, layering::DISABLED.r#type).is_some();
        return is_told.then(|| layering::DISABLED.with(&[]));
    };
    let outcome = match images.status {
        Pending | Disabled => layering::PENDING,
        Building => layering::BUILDING,
        Ready | Adopting => layering::READY,
        Adopted => layering::ADOPTED,
        Failed => layering::FAILED,
    };
    Some(outcome.with(&[&images.status_info]))
}

#[cfg(test)]
mod tests;
