//! A host joins a cluster, leaves it, or is taken out for a while.

use assisted_wire::host::HostStatus::*;

use super::{Effect, HostRule, to};
use crate::state::host::state::{DISCOVERY, POOL};
use crate::state::host::status_info as info;

/// A user binds a host of a pool to a cluster.
pub const BIND: &[HostRule] = &[to(&[KnownUnbound], Binding, info::BINDING, &[])];

/// A user unbinds a host.
pub const UNBIND: &[HostRule] = &[
    to(DISCOVERY, Unbinding, info::UNBINDING, &[Effect::LeaveCluster]),
    to(
        &[
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
        UnbindingPendingUserAction,
        info::UNBINDING,
        &[Effect::LeaveCluster],
    ),
    // A disabled host that leaves is like any other.
    to(&[Disabled], Unbinding, info::UNBINDING, &[Effect::LeaveCluster]),
];

/// A host leaves its cluster, and an installed one boots the discovery image by itself.
pub const RECLAIM: &[HostRule] = &[
    to(&[Installed, AddedToExistingCluster], Reclaiming, info::UNBINDING, &[Effect::LeaveCluster]),
    to(DISCOVERY, Unbinding, info::UNBINDING, &[Effect::LeaveCluster]),
    to(&[Error, Cancelled], UnbindingPendingUserAction, info::UNBINDING, &[Effect::LeaveCluster]),
];

/// A user takes a host out.
pub const DISABLE: &[HostRule] = &[
    to(DISCOVERY, Disabled, info::DISABLED, &[Effect::GiveUpBootstrap]),
    to(POOL, DisabledUnbound, info::DISABLED, &[]),
];

/// A user takes a host in again: it is discovered anew.
pub const ENABLE: &[HostRule] = &[
    to(&[Disabled], Discovering, info::DISCOVERING, &[Effect::Forget]),
    to(&[DisabledUnbound], DiscoveringUnbound, info::DISCOVERING, &[Effect::Forget]),
];
