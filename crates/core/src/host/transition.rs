//! The tables of the host's machine: for hosts of a cluster first, then for those of a pool (state-machines §4, §5).

use std::fmt;

use assisted_wire::host::HostStatus::{self, *};
use assisted_wire::host::HostValidationId::{
    Connected, HasInventory, InventoryNotFullyTruncated, MediaConnected, VsphereDiskUuidEnabled,
};

use super::condition::Condition::{self, All as Group, *};
use super::condition::Group::{Bindable, InputDefined, MinimalHardware, Sufficient, ValidInventory};
use super::state::{DISCOVERY, POOL};
use super::status_info as info;
use crate::machine::When::{All, Always, Any, Is, Not};
use crate::machine::{Rule, Table};

/// What a rule changes besides state and text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Forget what the last boot told: progress, inventory, bootstrap, images, NTP sources, logs.
    Forget,
    /// The same, but keep inventory and bootstrap.
    ForgetButInventory,
    /// The cluster's preparation starts anew.
    RestartPreparation,
    /// Leave the cluster: forget all that belonged to it.
    LeaveCluster,
    /// The text names the disk to boot from; refused when the host was told so already.
    DemandDiskBoot,
    /// The discovery media can't be read.
    LoseMedia,
    /// The text tells of the media and keeps what it told before.
    FailWithMedia,
    /// The request is refused.
    RefuseInstalled,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forget => "forgets its last boot",
            Self::ForgetButInventory => "forgets its last boot but the inventory",
            Self::RestartPreparation => "the cluster's preparation starts anew",
            Self::LeaveCluster => "leaves the cluster",
            Self::DemandDiskBoot => "names the disk to boot from",
            Self::LoseMedia => "media lost",
            Self::FailWithMedia => "media lost; keeps the old text",
            Self::RefuseInstalled => "refused",
        })
    }
}

/// A rule of the host's machine.
pub type HostRule = Rule<HostStatus, Condition, Effect>;

const fn to(
    from: &'static [HostStatus],
    to: HostStatus,
    info: &'static str,
    effects: &'static [Effect],
) -> HostRule {
    Rule { from, when: Always, to: Some(to), info: Some(info), effects }
}

const fn stay(from: &'static [HostStatus]) -> HostRule {
    Rule { from, when: Always, to: None, info: None, effects: &[] }
}

/// An existing host registers again.
pub const REGISTER: &[HostRule] = &[
    to(
        &[PreparingForInstallation, PreparingSuccessful],
        Known,
        info::KNOWN,
        &[Effect::ForgetButInventory, Effect::RestartPreparation],
    ),
    to(
        &[
            Discovering,
            Known,
            Disconnected,
            Insufficient,
            ResettingPendingUserAction,
            Binding,
            PendingForInput,
        ],
        Discovering,
        info::DISCOVERING,
        &[Effect::Forget],
    ),
    Rule { when: Is(Rebooting), ..stay(&[Resetting]) },
    to(&[Resetting], Discovering, info::DISCOVERING, &[Effect::Forget]),
    Rule {
        when: Is(BootedWrongDevice),
        ..to(
            &[InstallingInProgress, InstallingPendingUserAction, AddedToExistingCluster],
            InstallingPendingUserAction,
            info::WRONG_BOOT,
            &[Effect::DemandDiskBoot],
        )
    },
    to(&[Installing, InstallingInProgress], Error, info::RESTARTED, &[]),
    stay(&[Error]),
    Rule { effects: &[Effect::RefuseInstalled], ..stay(&[Installed]) },
    to(
        &[
            DiscoveringUnbound,
            DisconnectedUnbound,
            InsufficientUnbound,
            KnownUnbound,
            Unbinding,
            UnbindingPendingUserAction,
            ReclaimingRebooting,
        ],
        DiscoveringUnbound,
        info::DISCOVERING,
        &[Effect::Forget],
    ),
];

/// A user binds a host of a pool to a cluster.
pub const BIND: &[HostRule] = &[to(&[KnownUnbound], Binding, info::BINDING, &[])];

/// A user unbinds a host.
pub const UNBIND: &[HostRule] = &[
    to(DISCOVERY, Unbinding, info::UNBINDING, &[Effect::LeaveCluster]),
    Rule {
        from: &[
            PreparingForInstallation,
            PreparingSuccessful,
            PreparingFailed,
            Installing,
            InstallingInProgress,
            InstallingPendingUserAction,
            Installed,
            AddedToExistingCluster,
            Error,
            Cancelled,
        ],
        when: Always,
        to: Some(UnbindingPendingUserAction),
        info: Some(info::UNBINDING),
        effects: &[Effect::LeaveCluster],
    },
];

/// The installation is reset: the host must boot the discovery image again.
pub const RESET: &[HostRule] = &[to(
    &[
        Resetting,
        Discovering,
        Known,
        InstallingPendingUserAction,
        Installing,
        PreparingForInstallation,
        PreparingSuccessful,
        PreparingFailed,
        PendingForInput,
        ResettingPendingUserAction,
        InstallingInProgress,
        Installed,
        Error,
        Cancelled,
        AddedToExistingCluster,
    ],
    ResettingPendingUserAction,
    info::RESET,
    &[],
)];

/// The agent can't read the discovery media any more.
pub const MEDIA_LOST: &[HostRule] = &[
    to(
        &[Discovering, Insufficient, Known, PendingForInput, Disconnected, Binding],
        Disconnected,
        info::MEDIA,
        &[Effect::LoseMedia],
    ),
    to(
        &[
            PreparingForInstallation,
            PreparingFailed,
            PreparingSuccessful,
            Installing,
            InstallingInProgress,
            Error,
        ],
        Error,
        info::MEDIA,
        &[Effect::LoseMedia, Effect::FailWithMedia],
    ),
    to(
        &[DiscoveringUnbound, DisconnectedUnbound, InsufficientUnbound, KnownUnbound, Unbinding],
        DisconnectedUnbound,
        info::MEDIA,
        &[Effect::LoseMedia],
    ),
];

/// A cluster's host is looked at again.
pub const REFRESH: &[HostRule] = &[
    Rule {
        from: DISCOVERY,
        when: Any(&[Not(&Is(Passes(Connected))), Not(&Is(Passes(MediaConnected)))]),
        to: Some(Disconnected),
        info: Some(info::DISCONNECTED),
        effects: &[],
    },
    Rule {
        from: &[Disconnected, Discovering],
        when: Not(&Is(Group(ValidInventory))),
        to: Some(Discovering),
        info: Some(info::DISCOVERING),
        effects: &[],
    },
    Rule {
        from: DISCOVERY,
        when: All(&[Is(Group(ValidInventory)), Not(&Is(Group(MinimalHardware)))]),
        to: Some(Insufficient),
        info: Some(info::MIN_HARDWARE),
        effects: &[],
    },
    Rule {
        from: DISCOVERY,
        when: All(&[
            Is(Group(ValidInventory)),
            Is(Passes(VsphereDiskUuidEnabled)),
            Is(Group(MinimalHardware)),
            Not(&Is(Group(InputDefined))),
        ]),
        to: Some(PendingForInput),
        info: Some(info::PENDING),
        effects: &[],
    },
    Rule {
        from: DISCOVERY,
        when: All(&[
            Is(Passes(HasInventory)),
            Any(&[Is(Group(MinimalHardware)), Not(&Is(Passes(InventoryNotFullyTruncated)))]),
            Any(&[
                Not(&Is(Passes(VsphereDiskUuidEnabled))),
                All(&[Is(Group(InputDefined)), Not(&Is(Group(Sufficient)))]),
            ]),
        ]),
        to: Some(Insufficient),
        info: Some(info::NOT_READY),
        effects: &[],
    },
    Rule {
        from: DISCOVERY,
        when: All(&[
            Is(Group(ValidInventory)),
            Is(Group(MinimalHardware)),
            Is(Group(InputDefined)),
            Is(Group(Sufficient)),
            Is(Passes(VsphereDiskUuidEnabled)),
        ]),
        to: Some(Known),
        info: Some(info::KNOWN),
        effects: &[],
    },
];

/// A host of a pool is looked at again.
pub const REFRESH_POOL: &[HostRule] = &[
    Rule {
        from: &[DiscoveringUnbound, DisconnectedUnbound, InsufficientUnbound, KnownUnbound, Unbinding],
        when: Not(&Is(Passes(Connected))),
        to: Some(DisconnectedUnbound),
        info: Some(info::DISCONNECTED),
        effects: &[],
    },
    Rule {
        from: &[DisconnectedUnbound, DiscoveringUnbound],
        when: All(&[Is(Passes(MediaConnected)), Not(&Is(Group(ValidInventory)))]),
        to: Some(DiscoveringUnbound),
        info: Some(info::DISCOVERING),
        effects: &[],
    },
    Rule {
        from: POOL,
        when: All(&[Is(Passes(MediaConnected)), Is(Group(ValidInventory)), Not(&Is(Group(Bindable)))]),
        to: Some(InsufficientUnbound),
        info: Some(info::MIN_HARDWARE),
        effects: &[],
    },
    stay(&[Binding, Unbinding]),
    Rule {
        from: POOL,
        when: All(&[Is(Passes(MediaConnected)), Is(Group(ValidInventory)), Is(Group(Bindable))]),
        to: Some(KnownUnbound),
        info: Some(info::BIND_READY),
        effects: &[],
    },
];

/// Every table of the machine, in words.
pub fn tables() -> Vec<Table> {
    vec![
        Table::new("A host registers again", REGISTER),
        Table::new("A user binds a host", BIND),
        Table::new("A user unbinds a host", UNBIND),
        Table::new("A user resets a host", RESET),
        Table::new("A host loses its discovery media", MEDIA_LOST),
        Table::new("A host of a cluster is looked at again", REFRESH),
        Table::new("A host of a pool is looked at again", REFRESH_POOL),
    ]
}
