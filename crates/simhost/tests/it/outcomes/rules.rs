//! What must become of a cluster and of its hosts, by what goes wrong, when, and on a host of which role. The rules are
//! those of the reference, whose sections each one names; nothing here was taken from a run.

use assisted_simhost::fault::{FaultKind, Trigger};
use assisted_simhost::topology::Topology;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::{HostRole, HostStage, HostStatus};

use super::case::Case;
use FaultKind::{
    BrokenDisk, Cancel, Clock, ClockBehind, ClusterOperator, Delay, Die, Disorder, Double, Fail, ImagePull,
    Media, OlmOperator, Reset, Restart, Silence, SlowDisk, WrongBoot, WrongHost, WrongStage, WrongType,
};
use HostRole::{Arbiter, Bootstrap, Master};
use HostStage::{
    Configuring, Installing, Joined, Rebooting, StartingInstallation, WaitingForBootkube,
    WaitingForControlPlane, WaitingForController, WritingImageToDisk,
};

/// Where a cluster ends, with the text that tells why.
pub(crate) type ClusterEnd = (ClusterStatus, &'static str);

/// Where a host ends: its status, the first words of the text that tells why (`{stage}` is the stage of the case), and
/// something that the text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End(pub(crate) HostStatus, pub(crate) &'static str, pub(crate) &'static str);

/// The hosts that are not struck.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Others {
    Alike(End),
    /// The bootstrap, and the rest.
    Bootstrap(End, End),
    /// The host that the struck one pretends to be, and the rest.
    Posed(End, End),
}

/// One rule.
pub(crate) struct Rule {
    /// Where the reference has it: in `state-machines`, unless another is named.
    pub(crate) source: &'static str,
    pub(crate) fault_kinds: &'static [FaultKind],
    pub(crate) when: fn(&Case) -> bool,
    pub(crate) cluster: ClusterEnd,
    pub(crate) struck: End,
    pub(crate) others: Others,
}

/// Stages of the installer in which the agent is listened to: until the restart (§4.11.1).
const HEARD: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    WaitingForControlPlane,
    WaitingForBootkube,
    WaitingForController,
];
/// Stages of the installer.
const INSTALLER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    WaitingForControlPlane,
    WaitingForBootkube,
    WaitingForController,
    Rebooting,
];
/// Stages that others tell, after the restart.
const NODE: &[HostStage] = &[Configuring, Joined];
/// Stages of a bootstrap host that are soon over: it restarts before its silence has lasted five minutes (§4.3).
const SOON_OVER: &[HostStage] = &[WaitingForBootkube, WaitingForController];

// Clusters, §3.4.
const NOT_READY: ClusterEnd = (ClusterStatus::Insufficient, "Cluster is not ready for install");
const READY: ClusterEnd = (ClusterStatus::Ready, "Cluster ready to be installed");
const HOSTS_IN_ERROR: ClusterEnd = (ClusterStatus::Error, "cluster has hosts in error");
const NOBODY_CAME: ClusterEnd = (
    ClusterStatus::Error,
    "cluster installation timed out while pending user action (a manual booting from installation disk)",
);
const NOT_FINALIZED: ClusterEnd = (ClusterStatus::Error, "Cluster installation timeout while finalizing");
const CANCELLED: ClusterEnd = (ClusterStatus::Cancelled, "Installation was cancelled by user");
const INSTALLED: ClusterEnd = (ClusterStatus::Installed, "Cluster is installed");
const WITHOUT_WORKER: ClusterEnd =
    (ClusterStatus::Installed, "Cluster is installed but some workers did not join");
const DEGRADED: ClusterEnd =
    (ClusterStatus::Installed, "Cluster is installed but degraded. Failed OLM operators: lso");

// Hosts, §4.2.
const GONE: End =
    End(HostStatus::Disconnected, "Host has stopped communicating with the installation service", "");
const KNOWN: End = End(HostStatus::Known, "Host is ready to be installed", "");
const FAILING: &str = "Host cannot be installed due to following failing validation(s): ";
const NO_MAJORITY: End =
    End(HostStatus::Insufficient, FAILING, "No connectivity to the majority of hosts in the cluster");
/// Whoever waits for a judgement is not ready, but nothing has failed that could be told.
const MAJORITY_PENDING: End = End(HostStatus::Insufficient, FAILING, "");
const NAME_TWICE: End = End(HostStatus::Insufficient, FAILING, " is not unique in cluster");
const CLOCK_OFF: End = End(HostStatus::Insufficient, FAILING, "Host clock is not synchronized");
const DISK_BROKEN: End = End(
    HostStatus::Insufficient,
    FAILING,
    "While preparing the previous installation the installation disk speed measurement failed or was found to be insufficient",
);
const UNHEARD: End = End(
    HostStatus::Error,
    "Host failed to install due to timeout while connecting to host during the installation phase.",
    "",
);
const ABORTED: End = End(HostStatus::Error, "Host is part of a cluster that failed to install", "");
const TOLD_FAILURE: End = End(HostStatus::Error, "Failed - simulated failure", "");
const RESTARTED: End = End(HostStatus::Error, "The host unexpectedly restarted during the installation", "");
const NOT_BOOTED: End =
    End(HostStatus::Error, "Host failed to boot from the installation disk within the expected time.", "");
const NODE_TOO_LONG: End = End(
    HostStatus::Error,
    "Host failed to install because its installation stage {stage} took longer than expected 1h0m0s",
    "",
);
const WAITED_TOO_LONG: End = End(
    HostStatus::Error,
    "Host failed to install because its installation stage Waiting for control plane took longer than expected 1h0m0s",
    "",
);
const UNREADABLE: End = End(
    HostStatus::Error,
    "Failed - Unable to read from the discovery media. It was either disconnected or poor network conditions prevented it from being read. Try using the minimal ISO option and be sure to keep the media connected until the installation is completed. Host finished successfully to prepare for installation",
    "",
);
const DONE: End = End(HostStatus::Installed, "Done", "");
const CANCELLED_HOST: End = End(HostStatus::Cancelled, "Installation was cancelled by user", "");

/// Every rule; exactly one holds for each case.
pub(crate) const RULES: &[Rule] = &[
    // Before the installation.
    Rule {
        source: "§3.6 row 2, §4.8 row 13",
        fault_kinds: &[Die],
        when: |case| {
            matches!(case.trigger, Some(Trigger::Discovery | Trigger::Preparing)) && !breaks_majority(case)
                || case.trigger == Some(Trigger::Preparing) && has_no_peer(case)
        },
        cluster: NOT_READY,
        struck: GONE,
        others: Others::Alike(KNOWN),
    },
    Rule {
        source: "§3.6 row 2, §4.8 rows 13 and 33, validations §5.4, agent-protocol §2.4.2",
        fault_kinds: &[Die],
        when: |case| {
            matches!(case.trigger, Some(Trigger::Discovery | Trigger::Preparing))
                && breaks_majority(case)
                && !has_no_peer(case)
        },
        cluster: NOT_READY,
        struck: GONE,
        others: Others::Alike(NO_MAJORITY),
    },
    Rule {
        // A majority of two is enough when both are masters, and of the one nothing is known.
        source: "§3.6 row 2, §3.7 two nodes with fencing, §4.8 rows 13 and 33, validations `belongs-to-majority-group`",
        fault_kinds: &[Die],
        when: |case| case.trigger == Some(Trigger::Discovery) && has_no_peer(case),
        cluster: NOT_READY,
        struck: GONE,
        others: Others::Alike(MAJORITY_PENDING),
    },
    Rule {
        source: "§4.6 row 3, §4.7 media disconnect, §4.8 row 34",
        fault_kinds: &[Silence, Restart, Media],
        when: |case| case.trigger == Some(Trigger::Discovery),
        cluster: INSTALLED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.8 rows 16, 12 and 34, §3.6 rows 8 and 5",
        fault_kinds: &[Silence],
        when: |case| case.trigger == Some(Trigger::Preparing),
        cluster: READY,
        struck: KNOWN,
        others: Others::Alike(KNOWN),
    },
    Rule {
        source: "§4.6 row 2, §4.8 row 2",
        fault_kinds: &[Restart],
        when: |case| case.trigger == Some(Trigger::Preparing),
        cluster: INSTALLED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.7 media disconnect, §4.8 rows 12 and 37, §3.6 rows 8 and 2",
        fault_kinds: &[Media],
        when: |case| case.trigger == Some(Trigger::Preparing),
        cluster: NOT_READY,
        struck: UNREADABLE,
        others: Others::Alike(KNOWN),
    },
    Rule {
        source: "§4.8 rows 33 and 34, validations `time-synced-between-host-and-service`",
        fault_kinds: &[Clock, ClockBehind],
        when: always,
        cluster: NOT_READY,
        struck: CLOCK_OFF,
        others: Others::Alike(KNOWN),
    },
    Rule {
        source: "§4.8 rows 33 and 34, validations `hostname-unique`",
        fault_kinds: &[WrongHost],
        when: always,
        cluster: NOT_READY,
        struck: NAME_TWICE,
        others: Others::Posed(NAME_TWICE, KNOWN),
    },
    Rule {
        source: "§4.8 rows 7 and 12, §3.6 rows 8 and 2, §4.15 disk speed",
        fault_kinds: &[BrokenDisk],
        when: always,
        cluster: NOT_READY,
        struck: DISK_BROKEN,
        others: Others::Alike(KNOWN),
    },
    Rule {
        source: "§4.8 rows 9 and 11, §3.6 rows 9 and 5",
        fault_kinds: &[ImagePull],
        when: always,
        cluster: READY,
        struck: KNOWN,
        others: Others::Alike(KNOWN),
    },
    // While the installer runs.
    Rule {
        source: "§4.8 rows 17 and 14, §3.6 row 24",
        fault_kinds: &[Die, Silence],
        when: |case| case.at(HEARD) && !case.is_spared() && !is_soon_over(case),
        cluster: HOSTS_IN_ERROR,
        struck: UNHEARD,
        others: Others::Alike(ABORTED),
    },
    Rule {
        source: "§4.8 row 17, §3.7 enough, §3.10",
        fault_kinds: &[Die, Silence],
        when: |case| case.at(HEARD) && case.is_spared(),
        cluster: WITHOUT_WORKER,
        struck: UNHEARD,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.3 five minutes for the bootstrap, §4.11.1",
        fault_kinds: &[Silence],
        when: is_soon_over,
        cluster: INSTALLED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.6 row 7, §4.8 row 14, §3.6 row 24",
        fault_kinds: &[Restart],
        when: |case| case.at(HEARD) && !case.is_spared(),
        cluster: HOSTS_IN_ERROR,
        struck: RESTARTED,
        others: Others::Alike(ABORTED),
    },
    Rule {
        source: "§4.6 row 7, §3.7 enough, §3.10",
        fault_kinds: &[Restart],
        when: |case| case.at(HEARD) && case.is_spared(),
        cluster: WITHOUT_WORKER,
        struck: RESTARTED,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.5.6, §4.8 row 14, §3.6 row 24",
        fault_kinds: &[Fail],
        when: |case| case.at(INSTALLER) && !case.is_spared(),
        cluster: HOSTS_IN_ERROR,
        struck: TOLD_FAILURE,
        others: Others::Alike(ABORTED),
    },
    Rule {
        source: "§4.5.6, §3.7 enough, §3.10",
        fault_kinds: &[Fail],
        when: |case| case.at(INSTALLER) && case.is_spared(),
        cluster: WITHOUT_WORKER,
        struck: TOLD_FAILURE,
        others: Others::Alike(DONE),
    },
    // After the restart.
    Rule {
        source: "§4.8 rows 27 and 14, §4.11.6, §3.6 rows 19 and 11",
        fault_kinds: &[Die],
        when: |case| case.at(&[Rebooting]) && !case.is_spared(),
        cluster: NOBODY_CAME,
        struck: ABORTED,
        others: Others::Alike(ABORTED),
    },
    Rule {
        source: "§4.8 rows 27 and 28, §3.10",
        fault_kinds: &[Die],
        when: |case| case.at(&[Rebooting]) && case.is_spared(),
        cluster: WITHOUT_WORKER,
        struck: NOT_BOOTED,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.8 rows 21 and 14, §3.6 row 24",
        fault_kinds: &[Die],
        when: |case| case.at(NODE) && case.role == Some(Bootstrap),
        cluster: HOSTS_IN_ERROR,
        struck: NODE_TOO_LONG,
        others: Others::Alike(ABORTED),
    },
    Rule {
        // The bootstrap waits for it, and has done so for longer than it is waited for.
        source: "§4.8 rows 21 and 14, §3.6 row 24, installer-and-controller §A7",
        fault_kinds: &[Die],
        when: |case| case.at(NODE) && matches!(case.role, Some(Master | Arbiter)),
        cluster: HOSTS_IN_ERROR,
        struck: ABORTED,
        others: Others::Bootstrap(WAITED_TOO_LONG, ABORTED),
    },
    Rule {
        source: "§4.8 row 21, §3.7 enough, §3.10",
        fault_kinds: &[Die],
        when: |case| case.at(NODE) && case.is_spared(),
        cluster: WITHOUT_WORKER,
        struck: NODE_TOO_LONG,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§3.6 row 13, §4.8 row 14",
        fault_kinds: &[ClusterOperator],
        when: always,
        cluster: NOT_FINALIZED,
        struck: ABORTED,
        others: Others::Alike(ABORTED),
    },
    Rule {
        source: "§3.10.1",
        fault_kinds: &[OlmOperator],
        when: always,
        cluster: DEGRADED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
    // What the user does.
    Rule {
        source: "§3.5, §4.7 cancel, §3.6 row 5",
        fault_kinds: &[Cancel],
        when: |case| case.trigger == Some(Trigger::Preparing),
        cluster: READY,
        struck: KNOWN,
        others: Others::Alike(KNOWN),
    },
    Rule {
        source: "§3.5, §4.7 cancel",
        fault_kinds: &[Cancel],
        when: |case| case.trigger != Some(Trigger::Preparing),
        cluster: CANCELLED,
        struck: CANCELLED_HOST,
        others: Others::Alike(CANCELLED_HOST),
    },
    Rule {
        source: "§3.5, §4.7 reset, §4.6 row 3",
        fault_kinds: &[Reset],
        when: always,
        cluster: INSTALLED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
    // What costs nothing but time.
    Rule {
        source: "agent-protocol §2.3",
        fault_kinds: &[Double, Delay, Disorder, WrongType],
        when: always,
        cluster: INSTALLED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.5.5",
        fault_kinds: &[WrongStage],
        when: always,
        cluster: INSTALLED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.15 disk speed",
        fault_kinds: &[SlowDisk],
        when: always,
        cluster: INSTALLED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
    Rule {
        source: "§4.6 row 6, §4.11.2 and 5, §3.6 rows 19 and 17",
        fault_kinds: &[WrongBoot],
        when: always,
        cluster: INSTALLED,
        struck: DONE,
        others: Others::Alike(DONE),
    },
];

/// What the service refuses on the way, and where the reference has it.
pub(crate) const REFUSALS: &[(&str, &str)] = &[
    ("409: Can't set progress <", "§4.5.4"),
    ("409: Can't assign lower stage ", "§4.5.5"),
    ("409: Stages ", "§4.5.5"),
    ("400: output of step ", "§4.15 exit code 0"),
    ("400: the disk whose speed was measured is not told", "§4.15 exit code 0"),
];

fn always(_: &Case) -> bool {
    true
}

/// Whether too few hosts are left for a majority: fewer than three, or two with fencing.
fn breaks_majority(case: &Case) -> bool {
    let least = if case.shape.topology == Topology::Tnf { 2 } else { 3 };
    !case.is_alone() && case.shape.hosts - 1 < least
}

/// Whether the only other host has nobody left to try its connections to, so that what it found before is kept.
fn has_no_peer(case: &Case) -> bool {
    case.shape.hosts == 2
}

fn is_soon_over(case: &Case) -> bool {
    case.kind == Silence && case.at(SOON_OVER) && !case.is_alone()
}

/// How long it takes a cluster to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lasts {
    /// It is not installed, or not for long.
    Minutes,
    Hours,
    /// Until nobody waits for its operators any more.
    FinalizingTimeout,
    /// Until nobody waits for its hosts any more.
    InstallationTimeout,
}

/// How long a case lasts.
pub(crate) fn lasts(case: &Case) -> Lasts {
    match RULES[of(case)].cluster {
        NOBODY_CAME => Lasts::InstallationTimeout,
        NOT_FINALIZED => Lasts::FinalizingTimeout,
        NOT_READY | READY | CANCELLED => Lasts::Minutes,
        HOSTS_IN_ERROR if !case.at(NODE) => Lasts::Minutes,
        _ => Lasts::Hours,
    }
}

/// The number of the rule of a case.
pub(crate) fn of(case: &Case) -> usize {
    let holds = |rule: &Rule| rule.fault_kinds.contains(&case.kind) && (rule.when)(case);
    let found: Vec<_> = (0..RULES.len()).filter(|number| holds(&RULES[*number])).collect();
    match found.as_slice() {
        [one] => *one,
        _ => panic!("{} on {}: rules {found:?}", case.fault(), case.on()),
    }
}
