//! The stages that a host goes through while it is installed.

use assisted_wire::cluster::Cluster;
use assisted_wire::host::HostStage::{self, *};
use assisted_wire::host::{Host, HostKind, HostRole};

use crate::validation::topology;

const BOOTSTRAP: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    WaitingForControlPlane,
    WaitingForBootkube,
    WaitingForController,
    Rebooting,
    Configuring,
    Joined,
    Done,
];

const MASTER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    Rebooting,
    Configuring,
    Joined,
    Done,
];

const WORKER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    WaitingForControlPlane,
    Rebooting,
    WaitingForIgnition,
    Configuring,
    Joined,
    Done,
];

const SINGLE_NODE: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WaitingForBootkube,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    Rebooting,
    Joined,
    Done,
];

/// The stages of a host, in order; empty as long as its role is not decided (state-machines §4.4).
///
/// A host that joins an installed cluster is out of sight once it reboots: its list ends there.
pub fn of(host: &Host, cluster: Option<&Cluster>) -> Vec<HostStage> {
    let stages = if host.bootstrap || host.role == Some(HostRole::Bootstrap) {
        if cluster.is_some_and(topology::is_single_node) { SINGLE_NODE } else { BOOTSTRAP }
    } else {
        match host.role {
            Some(HostRole::Master | HostRole::Arbiter) => MASTER,
            Some(HostRole::Worker) => WORKER,
            _ => &[],
        }
    };
    if host.kind == HostKind::AddToExistingClusterHost {
        let end = stages.iter().position(|stage| *stage == Rebooting).map_or(stages.len(), |at| at + 1);
        return stages[..end].to_vec();
    }
    stages.to_vec()
}
