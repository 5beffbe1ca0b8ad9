//! A host can't read its discovery media any more.

use assisted_wire::host::MediaStatus;

use super::WorkingCopy;
use crate::model::event::catalogue;
use crate::state::host::transition::{Effect, MEDIA_LOST, rule_of};
use crate::state::host::{state, status_info};

/// Notes the loss; `false` when the host's state knows no such thing.
pub(super) fn lost(draft: &mut WorkingCopy<'_>) -> bool {
    let host = &mut draft.host;
    let Some(rule) = rule_of(MEDIA_LOST, host) else { return false };
    if host.record.host.media_status == Some(MediaStatus::Disconnected) {
        return true;
    }
    host.record.host.media_status = Some(MediaStatus::Disconnected);
    let info = if rule.effects.contains(&Effect::FailWithMedia) {
        failure(&host.record.host.status_info)
    } else {
        rule.info.unwrap_or_default().to_owned()
    };
    let to = rule.to.unwrap_or(host.record.host.status);
    state::enter(host, to, &info, draft.facts.now, &mut draft.events);
    draft.events.push(catalogue::HOST_MEDIA_DISCONNECTED.of_host(host, &[]));
    true
}

/// The text of a failed host keeps what it said before.
fn failure(old: &str) -> String {
    if old.contains(status_info::MEDIA) {
        return old.to_owned();
    }
    let new = format!("Failed - {}", status_info::MEDIA);
    if old.is_empty() { new } else { format!("{new}. {old}") }
}
