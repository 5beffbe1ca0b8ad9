//! Which steps a host is told, by its state and by what it is part of (agent-protocol §2.2).

use assisted_wire::host::HostStatus::{self, *};
use assisted_wire::step::PostStepAction::{self, Continue, Exit};
use assisted_wire::step::StepType::{
    self, ApiVipConnectivityCheck, ConnectivityCheck, ContainerImageAvailability, DhcpLeaseAllocate,
    DomainResolution, DownloadBootArtifacts, FreeNetworkAddresses, Install, InstallationDiskSpeedCheck,
    Inventory, LogsGather, NtpSynchronizer, RebootForReclaim, StopInstallation, TangConnectivityCheck,
    VerifyVips,
};

use crate::model::facts::HostFacts;

/// What hosts in some states are told.
#[derive(Debug)]
pub(super) struct Plan {
    states: &'static [HostStatus],
    /// Steps, in the order of the answer.
    pub(super) steps: &'static [StepType],
    /// Seconds until the next poll.
    pub(super) seconds: i64,
    pub(super) then: PostStepAction,
}

const fn plan(
    states: &'static [HostStatus],
    steps: &'static [StepType],
    seconds: i64,
    then: PostStepAction,
) -> Plan {
    Plan { states, steps, seconds, then }
}

/// States that are not in a table.
const OTHERWISE: &Plan = &plan(&[], &[], 60, Continue);

const DAY_1: &[Plan] = &[
    plan(
        &[Known],
        &[
            ConnectivityCheck,
            TangConnectivityCheck,
            FreeNetworkAddresses,
            DhcpLeaseAllocate,
            Inventory,
            NtpSynchronizer,
            DomainResolution,
            VerifyVips,
        ],
        60,
        Continue,
    ),
    plan(
        &[Insufficient, PendingForInput],
        &[
            Inventory,
            ConnectivityCheck,
            TangConnectivityCheck,
            FreeNetworkAddresses,
            DhcpLeaseAllocate,
            NtpSynchronizer,
            DomainResolution,
            VerifyVips,
        ],
        60,
        Continue,
    ),
    plan(&[Discovering], &[Inventory], 60, Continue),
    plan(&[Disconnected], &[Inventory], 120, Continue),
    plan(
        &[PreparingForInstallation],
        &[DhcpLeaseAllocate, InstallationDiskSpeedCheck, ContainerImageAvailability],
        60,
        Continue,
    ),
    plan(&[Installing], &[Install, DhcpLeaseAllocate], 60, Continue),
    plan(&[InstallingInProgress], &[DhcpLeaseAllocate], 60, Continue),
    plan(&[Disabled, Resetting], &[], 120, Continue),
    plan(&[Error, Cancelled], &[LogsGather, StopInstallation], 120, Continue),
    plan(&[Binding], &[], 0, Exit),
];

const DAY_2: &[Plan] = &[
    plan(
        &[Known],
        &[
            ConnectivityCheck,
            ApiVipConnectivityCheck,
            TangConnectivityCheck,
            Inventory,
            NtpSynchronizer,
            DomainResolution,
        ],
        60,
        Continue,
    ),
    plan(
        &[Insufficient],
        &[
            Inventory,
            ConnectivityCheck,
            ApiVipConnectivityCheck,
            TangConnectivityCheck,
            NtpSynchronizer,
            DomainResolution,
        ],
        60,
        Continue,
    ),
    plan(
        &[PendingForInput],
        &[Inventory, ConnectivityCheck, ApiVipConnectivityCheck, TangConnectivityCheck],
        60,
        Continue,
    ),
    plan(&[Discovering], &[Inventory, NtpSynchronizer, DomainResolution], 60, Continue),
    plan(&[Disconnected], &[Inventory], 120, Continue),
    plan(&[Installing], &[Install], 60, Continue),
    plan(&[Disabled, Resetting], &[], 120, Continue),
    plan(&[Error, Cancelled], &[LogsGather, StopInstallation], 120, Continue),
];

const POOL: &[Plan] = &[
    plan(
        &[DiscoveringUnbound, InsufficientUnbound, KnownUnbound],
        &[Inventory, NtpSynchronizer],
        60,
        Continue,
    ),
    plan(&[DisconnectedUnbound], &[Inventory], 120, Continue),
    plan(&[DisabledUnbound], &[], 120, Continue),
    plan(&[Unbinding, UnbindingPendingUserAction], &[], 0, Exit),
    plan(&[Reclaiming], &[DownloadBootArtifacts], 60, Continue),
    plan(&[ReclaimingRebooting], &[RebootForReclaim], 120, Exit),
];

/// States in which an agent of another version is replaced before anything else.
const UPGRADABLE: &[HostStatus] = &[
    Binding,
    Discovering,
    DiscoveringUnbound,
    Insufficient,
    InsufficientUnbound,
    Known,
    PendingForInput,
    KnownUnbound,
];

/// What the host is told. Being in a pool counts more than its kind.
pub(super) fn of(host: &HostFacts) -> &'static Plan {
    let table = match host.record.host.cluster_id {
        None => POOL,
        Some(_) if host.is_day2() => DAY_2,
        Some(_) => DAY_1,
    };
    table.iter().find(|plan| plan.states.contains(&host.record.host.status)).unwrap_or(OTHERWISE)
}

/// The longest that an agent pauses, seconds, which was last heard when the host was. One whose host has changed its state since then was
/// told by the state before.
pub(crate) fn longest_pause(host: &HostFacts) -> i64 {
    let is_told = host.record.host.status_updated_at.0 <= host.checked_in_at;
    let all = [DAY_1, DAY_2, POOL].into_iter().flatten();
    let told = if is_told { Some(of(host).seconds) } else { all.map(|plan| plan.seconds).max() };
    told.unwrap_or_default().max(OTHERWISE.seconds)
}

/// Whether the agent may be replaced now.
pub(super) fn is_upgradable(host: &HostFacts) -> bool {
    UPGRADABLE.contains(&host.record.host.status)
}
