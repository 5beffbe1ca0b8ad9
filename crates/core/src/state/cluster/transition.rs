//! The tables of the cluster's machine (state-machines §3.5, §3.6).

use assisted_wire::cluster::ClusterStatus::{self, *};

use super::condition::Condition::{self, *};
use super::effect::Effect;
use super::state::DESCRIBED;
use super::status_info as info;
use crate::state::machine::When::{All, Always, Any, Is, Not};
use crate::state::machine::{Rule, Table, When};

/// A rule of the cluster's machine.
pub type ClusterRule = Rule<ClusterStatus, Condition, Effect>;

/// A rule of a cluster that is described.
const fn described(when: When<Condition>, to: ClusterStatus, info: &'static str) -> ClusterRule {
    Rule { from: DESCRIBED, when, to: Some(to), info: Some(info), effects: &[] }
}

/// A rule by which an installation fails.
const fn fail(from: &'static [ClusterStatus], when: When<Condition>, info: &'static str) -> ClusterRule {
    Rule { from, when, to: Some(Error), info: Some(info), effects: &[Effect::TellFailure] }
}

const fn stay(from: &'static [ClusterStatus], when: When<Condition>) -> ClusterRule {
    Rule { from, when, to: None, info: None, effects: &[] }
}

/// Enough hosts are installed, or may still be.
const MAY_SUCCEED: When<Condition> = Any(&[Is(StillInstalling), Is(EnoughInstalled)]);

/// Nothing is missing any more but, perhaps, the DNS records.
const PREPARED: When<Condition> = All(&[Is(HostsPrepared), Is(Generated), Is(NodeAddressKnown)]);

/// A user starts the installation.
pub const INSTALL: &[ClusterRule] = &[Rule {
    from: &[Ready],
    when: Always,
    to: Some(PreparingForInstallation),
    info: Some(info::PREPARING),
    effects: &[Effect::Begin],
}];

/// A user cancels the installation.
pub const CANCEL: &[ClusterRule] = &[
    Rule {
        from: &[Installing, InstallingPendingUserAction, Error, Finalizing],
        when: Always,
        to: Some(Cancelled),
        info: Some(info::CANCELLED),
        effects: &[Effect::TellCancelled],
    },
    Rule {
        from: &[PreparingForInstallation],
        when: Always,
        to: Some(Ready),
        info: Some(info::CANCELLED),
        effects: &[Effect::TellCancelled],
    },
];

/// A user resets the installation.
pub const RESET: &[ClusterRule] = &[Rule {
    from: &[PreparingForInstallation, Installing, InstallingPendingUserAction, Error, Cancelled, Finalizing],
    when: Always,
    to: Some(Insufficient),
    info: Some(info::RESET),
    effects: &[Effect::Forget],
}];

/// A cluster is looked at again.
pub const REFRESH: &[ClusterRule] = &[
    described(
        All(&[Not(&Is(VipDhcp)), Any(&[Not(&Is(VipsDefined)), Not(&Is(InputComplete))])]),
        PendingForInput,
        info::PENDING,
    ),
    described(
        All(&[Not(&Is(VipDhcp)), Is(VipsDefined), Is(InputComplete), Not(&Is(Installable))]),
        Insufficient,
        info::INSUFFICIENT,
    ),
    described(All(&[Is(VipDhcp), Not(&Is(InputComplete))]), PendingForInput, info::PENDING),
    described(
        All(&[Is(VipDhcp), Is(InputComplete), Any(&[Not(&Is(Installable)), Not(&Is(VipsDefined))])]),
        Insufficient,
        info::INSUFFICIENT,
    ),
    described(All(&[Is(InputComplete), Is(VipsDefined), Is(Installable)]), Ready, info::READY),
    Rule {
        from: &[PreparingForInstallation],
        when: All(&[Is(PreparationTimedOut), Not(&Is(HostNotPrepared))]),
        to: Some(Ready),
        info: Some(info::PREPARATION_TIMED_OUT),
        effects: &[Effect::FailPreparation],
    },
    Rule {
        from: &[PreparingForInstallation],
        when: All(&[PREPARED, Is(DnsRecordsMade)]),
        to: Some(Installing),
        info: Some(info::INSTALLING),
        effects: &[Effect::FinishPreparation, Effect::SetNodeVips],
    },
    Rule {
        from: &[PreparingForInstallation],
        when: All(&[PREPARED, Not(&Is(DnsRecordsMade)), Not(&Is(DnsRecordsAsked))]),
        to: None,
        info: None,
        effects: &[Effect::AskForDnsRecords],
    },
    Rule {
        from: &[PreparingForInstallation],
        when: Is(HostLeftPreparation),
        to: Some(Insufficient),
        info: Some(info::PREPARATION_LEFT),
        effects: &[],
    },
    Rule {
        from: &[PreparingForInstallation],
        when: Any(&[Is(HostNotPrepared), Is(GenerationFailed)]),
        to: Some(Ready),
        info: Some(info::PREPARATION_FAILED),
        effects: &[],
    },
    fail(&[InstallingPendingUserAction], Not(&MAY_SUCCEED), info::HOSTS_FAILED),
    fail(&[InstallingPendingUserAction], Is(InstallationTimedOut), info::PENDING_TOO_LONG),
    fail(
        &[Installing, Finalizing],
        All(&[Is(InstallationTimedOut), Is(SoftTimeouts)]),
        info::INSTALLATION_TIMED_OUT,
    ),
    fail(&[Finalizing], All(&[Is(FinalizingTimedOut), Not(&Is(SoftTimeouts))]), info::FINALIZING_TIMED_OUT),
    fail(
        &[Finalizing],
        All(&[Not(&Is(SoftTimeouts)), Is(StageTimedOut), Not(&Is(StageTolerant))]),
        info::STAGE_TIMED_OUT,
    ),
    Rule {
        from: &[Finalizing],
        when: All(&[
            Not(&Is(StageTimeoutTold)),
            Any(&[Is(SoftTimeouts), Is(StageTolerant)]),
            Is(StageTimedOut),
        ]),
        to: Some(Finalizing),
        info: Some(info::STAGE_SLOW),
        effects: &[Effect::TellStageTimeout],
    },
    stay(&[InstallingPendingUserAction], All(&[Is(HostPending), MAY_SUCCEED])),
    Rule {
        from: &[InstallingPendingUserAction],
        when: All(&[
            Not(&Is(HostPending)),
            Is(StillInstalling),
            Not(&Is(EnoughInstalled)),
            Is(NodeAddressKnown),
        ]),
        to: Some(Installing),
        info: Some(info::INSTALLING),
        effects: &[Effect::SetNodeVips],
    },
    Rule {
        from: &[InstallingPendingUserAction],
        when: All(&[Not(&Is(HostPending)), Is(EnoughInstalled)]),
        to: Some(Finalizing),
        info: Some(info::FINALIZING),
        effects: &[Effect::RestartStage],
    },
    Rule {
        from: &[Installing, Finalizing],
        when: All(&[MAY_SUCCEED, Is(HostPending)]),
        to: Some(InstallingPendingUserAction),
        info: Some(info::PENDING_USER_ACTION),
        effects: &[],
    },
    Rule {
        from: &[Installing],
        when: All(&[Is(EnoughInstalled), Not(&Is(HostPending))]),
        to: Some(Finalizing),
        info: Some(info::FINALIZING),
        effects: &[],
    },
    Rule {
        from: &[Installing],
        when: All(&[
            Not(&Is(EnoughInstalled)),
            Not(&Is(HostPending)),
            Is(StillInstalling),
            Not(&Is(OtherImageBooted)),
        ]),
        to: Some(Installing),
        info: Some(info::INSTALLING),
        effects: &[],
    },
    Rule {
        from: &[Finalizing],
        when: All(&[Is(HostsDone), Is(Settled), Is(SubscriptionActive)]),
        to: Some(Installed),
        info: Some(info::COMPLETED),
        effects: &[Effect::Complete],
    },
    fail(
        &[Installing],
        // No host tells that another image is booted: those that would come next wait for it in vain.
        All(&[Not(&Is(EnoughInstalled)), Any(&[Not(&Is(StillInstalling)), Is(OtherImageBooted)])]),
        info::HOSTS_FAILED,
    ),
    Rule {
        from: &[Error, Cancelled],
        when: Is(LogsTimedOut),
        to: None,
        info: None,
        effects: &[Effect::GiveUpLogs],
    },
    // While hosts are being installed, those that wait for the image fail with it.
    fail(&[Finalizing], Is(ImageFailed), info::IMAGE_FAILED),
    Rule {
        from: &[Finalizing],
        when: Is(ConsoleUrlOwed),
        to: None,
        info: None,
        effects: &[Effect::AskForConsoleUrl],
    },
    Rule {
        from: &[Finalizing],
        when: All(&[Is(HostsDone), Is(Settled), Is(ActivationOwed)]),
        to: None,
        info: None,
        effects: &[Effect::AskForActivation],
    },
    stay(
        &[PreparingForInstallation, Finalizing, Installed, Error, Cancelled, AddingHosts, Unmonitored],
        Always,
    ),
];

/// Every table of the machine, in words.
pub fn tables() -> Vec<Table> {
    vec![
        Table::new("A user installs a cluster", INSTALL),
        Table::new("A user cancels the installation of a cluster", CANCEL),
        Table::new("A user resets the installation of a cluster", RESET),
        Table::new("A cluster is looked at again", REFRESH),
    ]
}
