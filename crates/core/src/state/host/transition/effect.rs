//! What a rule changes besides state and text.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Forget what the last boot reported: progress, inventory, bootstrap, images, NTP sources, logs.
    Forget,
    /// The same, but keep inventory and bootstrap.
    ForgetButInventory,
    /// Another host is to be the bootstrap host.
    GiveUpBootstrap,
    /// The cluster's preparation starts anew.
    RestartPreparation,
    /// Leave the cluster: forget all that belonged to it.
    LeaveCluster,
    /// The text names the disk to boot from; refused when the host was asked for it already.
    DemandDiskBoot,
    /// The discovery media can't be read.
    LoseMedia,
    /// The text names the media and keeps what it said before.
    FailWithMedia,
    /// The request is refused.
    RefuseInstalled,
    /// Forget when logs were asked for, and when they came.
    ForgetLogs,
    /// Forget which images could be pulled, if some could not.
    ForgetFailedImages,
    /// Record which installer is used, and emit an event for the disks that it wipes.
    BeginInstallation,
    /// Record that an event reported the silence of the host.
    NoteSilence,
    /// Note that the host is heard again.
    NoteVoice,
    /// The clock of the stage starts anew, if it is older than a minute.
    HoldStageBack,
    /// Record that the stage takes too long, and emit an event.
    NoteStageOverdue,
    /// Logs are awaited no longer.
    GiveUpLogs,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forget => "forgets its last boot",
            Self::ForgetButInventory => "forgets its last boot but the inventory",
            Self::GiveUpBootstrap => "is the bootstrap host no longer",
            Self::RestartPreparation => "the cluster's preparation starts anew",
            Self::LeaveCluster => "leaves the cluster",
            Self::DemandDiskBoot => "names the disk to boot from",
            Self::LoseMedia => "media lost",
            Self::FailWithMedia => "keeps the old text",
            Self::RefuseInstalled => "refused",
            Self::ForgetLogs => "forgets its logs",
            Self::ForgetFailedImages => "forgets images that failed",
            Self::BeginInstallation => "tells which disks are wiped",
            Self::NoteSilence => "silence noted",
            Self::NoteVoice => "silence over",
            Self::HoldStageBack => "the stage's clock is held back",
            Self::NoteStageOverdue => "tells that the stage takes too long",
            Self::GiveUpLogs => "logs timed out",
        })
    }
}
