//! An installation of a host begins, goes on, and ends (state-machines §4.5, §4.7).

use assisted_wire::host::HostStage;
use assisted_wire::host::HostStatus::*;

use super::{Effect, HostRule, stay, to};
use crate::state::host::condition::Condition::{Day2, Stage};
use crate::state::host::status_info as info;
use crate::state::machine::Rule;
use crate::state::machine::When::{All, Is};

/// A user installs a host that joins an installed cluster.
pub const INSTALL: &[HostRule] =
    &[Rule { when: Is(Day2), ..to(&[Known], Installing, info::INSTALLING, &[Effect::BeginInstallation]) }];

/// The installer, or the new cluster's controller, reports that the host reached a stage.
pub const PROGRESS: &[HostRule] = &[
    Rule {
        when: All(&[Is(Stage(HostStage::Rebooting)), Is(Day2)]),
        ..to(&[InstallingInProgress, Installing], InstallingInProgress, info::STAGE_NAME, &[])
    },
    Rule {
        when: All(&[Is(Stage(HostStage::Done)), Is(Day2)]),
        ..to(
            &[InstallingInProgress, Installing, InstallingPendingUserAction],
            AddedToExistingCluster,
            info::DAY2_DONE,
            &[],
        )
    },
    Rule {
        when: Is(Stage(HostStage::Done)),
        ..to(&[InstallingInProgress, Installing], Installed, info::STAGE_NAME, &[])
    },
    to(
        &[InstallingInProgress, Installing, InstallingPendingUserAction],
        InstallingInProgress,
        info::STAGE_NAME,
        &[],
    ),
    stay(&[Installed, ResettingPendingUserAction]),
];

/// A user cancels the installation of the cluster.
pub const CANCEL: &[HostRule] = &[
    to(
        &[InstallingPendingUserAction, Installing, InstallingInProgress, Installed, Error],
        Cancelled,
        info::CANCELLED,
        &[],
    ),
    to(&[PreparingForInstallation, PreparingSuccessful], Known, info::CANCELLED, &[]),
    stay(&[Known]),
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
