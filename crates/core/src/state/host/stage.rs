//! The stages that a host goes through while it is installed.

use assisted_wire::cluster::Cluster;
use assisted_wire::host::HostStage::{self, *};
use assisted_wire::host::{Host, HostKind, HostRole};

use crate::model::cluster::ClusterRecord;
use crate::model::topology;

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
    let stages = whole(host, cluster);
    if host.kind == HostKind::AddToExistingClusterHost {
        let end = stages.iter().position(|stage| *stage == Rebooting).map_or(stages.len(), |at| at + 1);
        return stages[..end].to_vec();
    }
    stages.to_vec()
}

/// The same for a stored cluster: where the controllers of a hub follow its nodes, a host that joins it is followed to its end.
pub fn of_record(host: &Host, cluster: Option<&ClusterRecord>) -> Vec<HostStage> {
    let known = cluster.map(|record| &record.cluster);
    if cluster.is_some_and(ClusterRecord::follows_nodes) {
        whole(host, known).to_vec()
    } else {
        of(host, known)
    }
}

/// How many of its stages a host has reached, and how many there are, whoever follows it: what the progress of its
/// cluster is made of.
pub fn place(host: &Host, cluster: Option<&Cluster>) -> (usize, usize) {
    let stages = whole(host, cluster);
    let stage = host.stage();
    let reached = stages.iter().position(|each| Some(*each) == stage).map_or(0, |at| at + 1);
    (reached, stages.len())
}

fn whole(host: &Host, cluster: Option<&Cluster>) -> &'static [HostStage] {
    if host.bootstrap || host.role == Some(HostRole::Bootstrap) {
        return if cluster.is_some_and(topology::is_single_node) { SINGLE_NODE } else { BOOTSTRAP };
    }
    match host.role {
        Some(HostRole::Master | HostRole::Arbiter) => MASTER,
        Some(HostRole::Worker) => WORKER,
        _ => &[],
    }
}

/// How far a host is that has reached a stage, percent; 0 when the stage is not its own.
pub fn percentage(stages: &[HostStage], stage: HostStage) -> i64 {
    let reached = stages.iter().position(|each| *each == stage).map_or(0, |at| at + 1);
    i64::try_from(reached * 100 / stages.len().max(1)).unwrap_or(100)
}

/// Whether a host in the stage waits for the others, so that it must not be blamed as long as one of them is stuck.
pub fn waits_for_others(stage: HostStage) -> bool {
    matches!(stage, WaitingForControlPlane | WaitingForController | WaitingForBootkube | Rebooting)
}

/// Whether a host in the stage has left the discovery image, so that it takes a person to bring it back.
pub fn is_past_reboot(stage: HostStage) -> bool {
    matches!(stage, Rebooting | WaitingForIgnition | Configuring | Joined | Done)
}
