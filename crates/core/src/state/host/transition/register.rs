//! An existing host registers again (state-machines §4.6, §5).

use assisted_wire::host::HostStage;
use assisted_wire::host::HostStatus::*;

use super::{Effect, HostRule, stay, to};
use crate::state::host::condition::Condition::{BootedWrongDevice, Stage};
use crate::state::host::status_info as info;
use crate::state::machine::Rule;
use crate::state::machine::When::Is;

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
    Rule { when: Is(Stage(HostStage::Rebooting)), ..stay(&[Resetting]) },
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
    // A disabled host may boot anew, and stays disabled.
    Rule { effects: &[Effect::Forget], ..stay(&[Disabled, DisabledUnbound]) },
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
