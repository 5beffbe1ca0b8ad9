//! A host is looked at again (state-machines §4.8, §5).

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStage;
use assisted_wire::host::HostStatus::{self, *};
use assisted_wire::host::HostValidationId::{
    Connected, ContainerImagesAvailable, HasInventory, InventoryNotFullyTruncated, MediaConnected,
    SufficientInstallationDiskSpeed, VsphereDiskUuidEnabled,
};

use super::{Effect, HostRule, stay, to};
use crate::state::host::condition::Condition::{
    self, All as Group, Cluster, Day2, DiskTested, Dispensable, HasRole, ImagesPulled, LogsOverdue, Overdue,
    Passes, SilenceReported, SoftTimeouts, Stage, StageHeldBack, StageOverdue, StageOverdueReported,
};
use crate::state::host::condition::Group::{
    Bindable, InputDefined, MinimalHardware, Sufficient, ValidInventory,
};
use crate::state::host::condition::Limit;
use crate::state::host::state::{DISCOVERY, POOL};
use crate::state::host::status_info as info;
use crate::state::machine::When::{self, All, Any, Is, Not};

type HostWhen = When<Condition>;

const fn rule(
    from: &'static [HostStatus],
    when: HostWhen,
    next: HostStatus,
    info: &'static str,
    effects: &'static [Effect],
) -> HostRule {
    HostRule { when, ..to(from, next, info, effects) }
}

const fn stay_if(from: &'static [HostStatus], when: HostWhen, effects: &'static [Effect]) -> HostRule {
    HostRule { when, effects, ..stay(from) }
}

const HEARD: HostWhen = Is(Passes(Connected));
/// The agent is heard, and can read what it was booted from.
const THERE: HostWhen = All(&[Is(Passes(Connected)), Is(Passes(MediaConnected))]);
const CLUSTER_PREPARES: HostWhen = Is(Cluster(ClusterStatus::PreparingForInstallation));
const CLUSTER_INSTALLS: HostWhen = Is(Cluster(ClusterStatus::Installing));
const CLUSTER_FAILED: HostWhen = Is(Cluster(ClusterStatus::Error));
/// The disk was not found wanting, if it was measured at all.
const DISK_FINE: HostWhen = Is(Passes(SufficientInstallationDiskSpeed));
/// No image was found missing, if any was pulled at all.
const IMAGES_FINE: HostWhen = Is(Passes(ContainerImagesAvailable));
const NONE_FAILED: HostWhen = All(&[DISK_FINE, IMAGES_FINE]);
/// A check before the installation has no outcome yet, and none has failed.
const UNFINISHED: HostWhen = All(&[
    Any(&[All(&[Not(&Is(DiskTested)), DISK_FINE]), All(&[Not(&Is(ImagesPulled)), IMAGES_FINE])]),
    NONE_FAILED,
]);
const HARD: HostWhen = Not(&Is(SoftTimeouts));
/// A stage is overdue whose end only a warning reports, and the warning was not given yet.
const SOFT_OVERDUE: HostWhen = All(&[Is(SoftTimeouts), Is(StageOverdue), Not(&Is(StageOverdueReported))]);
const WRITING: HostWhen = Is(Stage(HostStage::WritingImageToDisk));
const COPYING: HostWhen = Is(Stage(HostStage::CopyingRegistryDataToDisk));
const REBOOTING: HostWhen = Is(Stage(HostStage::Rebooting));
const PLAIN_STAGE: HostWhen = Not(&Any(&[WRITING, COPYING, REBOOTING]));
const VALID: HostWhen = Is(Group(ValidInventory));
const STRONG: HostWhen = Is(Group(MinimalHardware));
const DEFINED: HostWhen = Is(Group(InputDefined));
const SUFFICIENT: HostWhen = Is(Group(Sufficient));
const UUID: HostWhen = Is(Passes(VsphereDiskUuidEnabled));
const READY: HostWhen = All(&[THERE, VALID, STRONG, DEFINED, SUFFICIENT, UUID]);

/// A cluster's host is looked at again.
pub const REFRESH: &[HostRule] = &[
    // Leaves.
    rule(
        &[Reclaiming, ReclaimingRebooting],
        Is(Overdue(Limit::Reclaim)),
        UnbindingPendingUserAction,
        info::UNBINDING,
        &[Effect::LeaveCluster],
    ),
    // Prepares.
    rule(
        &[Known],
        All(&[Is(HasRole), THERE, CLUSTER_PREPARES]),
        PreparingForInstallation,
        info::PREPARED,
        &[Effect::ForgetLogs, Effect::ForgetFailedImages],
    ),
    rule(
        &[PreparingForInstallation],
        All(&[THERE, Is(DiskTested), Is(ImagesPulled), CLUSTER_PREPARES]),
        PreparingSuccessful,
        info::PREPARED,
        &[],
    ),
    stay_if(&[PreparingSuccessful], All(&[THERE, CLUSTER_PREPARES]), &[]),
    rule(
        &[PreparingSuccessful],
        All(&[THERE, CLUSTER_INSTALLS]),
        Installing,
        info::INSTALLING,
        &[Effect::BeginInstallation],
    ),
    rule(
        &[PreparingForInstallation],
        All(&[THERE, NONE_FAILED, Not(&CLUSTER_PREPARES)]),
        Known,
        info::KNOWN,
        &[],
    ),
    rule(
        &[PreparingForInstallation, PreparingFailed, Known],
        All(&[THERE, Not(&DISK_FINE)]),
        Insufficient,
        info::NOT_READY,
        &[],
    ),
    rule(
        &[PreparingForInstallation],
        All(&[THERE, Is(Overdue(Limit::Preparation)), UNFINISHED]),
        PreparingFailed,
        info::PREPARATION_TIMED_OUT,
        &[],
    ),
    rule(
        &[PreparingForInstallation],
        All(&[THERE, Not(&IMAGES_FINE)]),
        PreparingFailed,
        info::PREPARATION_FAILED,
        &[],
    ),
    stay_if(&[PreparingForInstallation], All(&[THERE, UNFINISHED, CLUSTER_PREPARES]), &[]),
    rule(&[PreparingFailed], All(&[THERE, Not(&CLUSTER_PREPARES)]), Known, info::KNOWN, &[]),
    rule(
        &[PreparingSuccessful],
        All(&[THERE, Not(&CLUSTER_PREPARES), Not(&CLUSTER_INSTALLS)]),
        Known,
        info::KNOWN,
        &[],
    ),
    rule(
        &[Discovering, Insufficient, Known, PendingForInput, Disconnected, PreparingFailed],
        Not(&THERE),
        Disconnected,
        info::DISCONNECTED,
        &[],
    ),
    // Is installed.
    rule(
        &[
            Installing,
            InstallingInProgress,
            Installed,
            ResettingPendingUserAction,
            InstallingPendingUserAction,
        ],
        All(&[CLUSTER_FAILED, Not(&Is(Day2))]),
        Error,
        info::ABORTED,
        &[],
    ),
    rule(&[Installing], Is(Overdue(Limit::Start)), Error, info::START_TIMED_OUT, &[]),
    rule(
        &[PreparingForInstallation, PreparingSuccessful],
        Not(&THERE),
        Disconnected,
        info::PREPARATION_DISCONNECTED,
        &[],
    ),
    rule(
        &[Installing, InstallingInProgress],
        All(&[Not(&HEARD), HARD]),
        Error,
        info::CONNECTION_TIMED_OUT,
        &[],
    ),
    soft_silence(&[Installing], Installing),
    soft_silence(&[InstallingInProgress], InstallingInProgress),
    soft_voice(&[Installing], Installing),
    soft_voice(&[InstallingInProgress], InstallingInProgress),
    stay_if(&[InstallingInProgress], Is(StageHeldBack), &[Effect::HoldStageBack]),
    rule(
        &[InstallingInProgress],
        All(&[HARD, PLAIN_STAGE, Is(StageOverdue)]),
        Error,
        info::STAGE_TIMED_OUT,
        &[],
    ),
    rule(&[InstallingInProgress], All(&[HARD, WRITING, Is(StageOverdue)]), Error, info::WRITE_TIMED_OUT, &[]),
    rule(&[InstallingInProgress], All(&[HARD, COPYING, Is(StageOverdue)]), Error, info::WRITE_TIMED_OUT, &[]),
    soft_stage(All(&[PLAIN_STAGE, SOFT_OVERDUE]), info::STAGE_SOFT),
    soft_stage(All(&[WRITING, SOFT_OVERDUE]), info::WRITE_SOFT),
    soft_stage(All(&[COPYING, SOFT_OVERDUE]), info::WRITE_SOFT),
    rule(
        &[InstallingInProgress],
        All(&[Is(StageOverdue), REBOOTING]),
        InstallingPendingUserAction,
        info::REBOOT_TIMED_OUT,
        &[],
    ),
    rule(
        &[InstallingPendingUserAction],
        All(&[
            Is(Overdue(Limit::UserAction)),
            Is(Dispensable),
            Not(&Is(Cluster(ClusterStatus::Installed))),
            Not(&Is(Cluster(ClusterStatus::AddingHosts))),
        ]),
        Error,
        info::USER_ACTION_TIMED_OUT,
        &[],
    ),
    stay_if(
        &[
            Installing,
            InstallingInProgress,
            Installed,
            InstallingPendingUserAction,
            ResettingPendingUserAction,
        ],
        Not(&CLUSTER_FAILED),
        &[],
    ),
    // Is discovered.
    rule(&[Disconnected, Discovering], All(&[THERE, Not(&VALID)]), Discovering, info::DISCOVERING, &[]),
    rule(DISCOVERY, All(&[THERE, VALID, Not(&STRONG)]), Insufficient, info::MIN_HARDWARE, &[]),
    rule(DISCOVERY, All(&[THERE, VALID, UUID, STRONG, Not(&DEFINED)]), PendingForInput, info::PENDING, &[]),
    rule(
        DISCOVERY,
        All(&[
            THERE,
            Is(Passes(HasInventory)),
            Any(&[STRONG, Not(&Is(Passes(InventoryNotFullyTruncated)))]),
            Any(&[Not(&UUID), All(&[DEFINED, Not(&SUFFICIENT)])]),
        ]),
        Insufficient,
        info::NOT_READY,
        &[],
    ),
    rule(&[Disconnected, Insufficient, PendingForInput, Discovering], READY, Known, info::KNOWN, &[]),
    rule(&[Known], All(&[READY, Not(&All(&[CLUSTER_PREPARES, Is(HasRole)]))]), Known, info::KNOWN, &[]),
    // Has ended.
    stay_if(&[Error, Cancelled], Is(LogsOverdue), &[Effect::GiveUpLogs]),
    stay(&[Error, Cancelled, Resetting]),
    stay_if(&[AddedToExistingCluster], Is(Day2), &[]),
    stay_if(&[Reclaiming, ReclaimingRebooting], Not(&Is(Overdue(Limit::Reclaim))), &[]),
];

const fn soft_silence(from: &'static [HostStatus], same: HostStatus) -> HostRule {
    let when = All(&[Not(&HEARD), Is(SoftTimeouts), Not(&Is(SilenceReported))]);
    rule(from, when, same, info::CONNECTION_SOFT, &[Effect::NoteSilence])
}

const fn soft_voice(from: &'static [HostStatus], same: HostStatus) -> HostRule {
    let when = All(&[HEARD, Is(SoftTimeouts), Is(SilenceReported)]);
    rule(from, when, same, info::CONNECTION_RECOVERED, &[Effect::NoteVoice])
}

const fn soft_stage(when: HostWhen, info: &'static str) -> HostRule {
    rule(&[InstallingInProgress], when, InstallingInProgress, info, &[Effect::NoteStageOverdue])
}

/// A host of a pool is looked at again.
pub const REFRESH_POOL: &[HostRule] = &[
    rule(
        &[DiscoveringUnbound, DisconnectedUnbound, InsufficientUnbound, KnownUnbound, Unbinding],
        Not(&HEARD),
        DisconnectedUnbound,
        info::DISCONNECTED,
        &[],
    ),
    rule(
        &[DisconnectedUnbound, DiscoveringUnbound],
        All(&[THERE, Not(&VALID)]),
        DiscoveringUnbound,
        info::DISCOVERING,
        &[],
    ),
    rule(POOL, All(&[THERE, VALID, Not(&Is(Group(Bindable)))]), InsufficientUnbound, info::MIN_HARDWARE, &[]),
    stay(&[Binding, Unbinding]),
    rule(POOL, All(&[THERE, VALID, Is(Group(Bindable))]), KnownUnbound, info::BIND_READY, &[]),
];
