//! `connected`, `media-connected`: the agent is heard, and can read what it was booted from.

use assisted_wire::host::{HostStage, MediaStatus};
use assisted_wire::time::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::View;
use crate::model::facts::HostFacts;
use crate::model::outcome::Outcome;
use crate::policy::Policy;

/// How much longer the bootstrap host may be silent: it is busy.
const BOOTSTRAP_ALLOWANCE: SignedDuration = SignedDuration::from_mins(2);

const MEDIA_LOST: &str = "Unable to read from the discovery media. It was either disconnected or poor network \
    conditions prevented it from being read. Try using the minimal ISO option and be sure to keep the media connected \
    until the installation is completed";

/// Whether an agent runs, and so must be heard, in a stage of the installation.
pub fn stage_is_watched(stage: Option<HostStage>) -> bool {
    matches!(
        stage,
        None | Some(
            HostStage::StartingInstallation
                | HostStage::Installing
                | HostStage::WritingImageToDisk
                | HostStage::CopyingRegistryDataToDisk
                | HostStage::WaitingForControlPlane
                | HostStage::WaitingForBootkube
                | HostStage::WaitingForController
        )
    )
}

/// The last moment at which a host counts as connected without being heard again; `None`: it need not be heard.
pub fn connected_until(host: &HostFacts, policy: &Policy) -> Option<Timestamp> {
    let fields = &host.record.host;
    if !stage_is_watched(fields.stage()) || DateTime(host.checked_in_at).is_zero() {
        return None;
    }
    let limit = SignedDuration::try_from(policy.hosts.max_disconnection_time).unwrap_or(SignedDuration::MAX);
    let limit = if fields.bootstrap { limit.saturating_add(BOOTSTRAP_ALLOWANCE) } else { limit };
    Some(host.checked_in_at.saturating_add(limit).unwrap_or(Timestamp::MAX))
}

/// Whether a host that must be heard was not for too long.
pub fn is_silent(host: &HostFacts, policy: &Policy, now: Timestamp) -> bool {
    connected_until(host, policy).is_some_and(|until| now > until)
}

pub(super) fn check(view: &View<'_>) -> Outcome {
    if !is_silent(view.host, &view.facts.policy, view.facts.now) {
        return Outcome::success("Host is connected");
    }
    let silence = view.facts.now.duration_since(view.host.checked_in_at);
    Outcome::failure("Host is disconnected")
        .measured(format!("silent for {} s", silence.as_secs()))
        .required(format!("heard every {} s", view.facts.policy.hosts.max_disconnection_time.as_secs()))
        .remedy("Check that the machine is on, and that it reaches the service.")
}

pub(super) fn check_media(view: &View<'_>) -> Outcome {
    if view.record().media_status == Some(MediaStatus::Disconnected) {
        Outcome::failure(MEDIA_LOST)
            .measured("can't be read")
            .required("a medium that can be read")
            .remedy("Attach the discovery image again, and boot the machine anew.")
    } else {
        Outcome::success("Media device is connected")
    }
}
