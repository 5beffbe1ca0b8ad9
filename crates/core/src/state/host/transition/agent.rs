//! What an agent's answers to steps bring about (state-machines §4.7).

use assisted_wire::host::HostStatus::*;

use super::{Effect, HostRule, to};
use crate::state::host::status_info as info;

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

/// The agent could not run the installer.
pub const INSTALL_FAILED: &[HostRule] =
    &[to(&[Installing, InstallingInProgress], Error, info::INSTALL_FAILED, &[])];

/// An installed host has kernel and initial RAM disk of the discovery image.
pub const ARTIFACTS_READY: &[HostRule] =
    &[to(&[Reclaiming], ReclaimingRebooting, info::RECLAIM_REBOOTING, &[])];

/// An installed host can't get them.
pub const ARTIFACTS_FAILED: &[HostRule] = &[to(
    &[Reclaiming, ReclaimingRebooting],
    UnbindingPendingUserAction,
    info::UNBINDING,
    &[Effect::LeaveCluster],
)];
