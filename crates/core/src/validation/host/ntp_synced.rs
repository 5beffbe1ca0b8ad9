//! `ntp-synced`: the host's clock follows a time server. Told only; it keeps no host from being installed.

use assisted_wire::host::HostStatus;
use assisted_wire::probe_responses::{NtpSource, SourceState};

use super::View;
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;
use crate::validation::scope::Report;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let sources: Vec<NtpSource> = match view.report(ReportKind::NtpSources) {
        Report::Missing => Vec::new(),
        Report::Broken => return Outcome::error("Parse error for NTP sources"),
        Report::Read(sources) => sources,
    };
    if sources.iter().any(|source| source.source_state == Some(SourceState::Synced)) {
        return Outcome::success("Host NTP is synced");
    }
    let waiting = matches!(
        view.record().status,
        HostStatus::DiscoveringUnbound
            | HostStatus::InsufficientUnbound
            | HostStatus::KnownUnbound
            | HostStatus::DisconnectedUnbound
    );
    if waiting && !has_configured_sources(view) {
        return Outcome::suppressed();
    }
    let state = |source: &NtpSource| {
        let state = source.source_state.map_or("unknown", SourceState::as_str);
        format!("{} is {state}", source.source_name)
    };
    let states: Vec<String> = sources.iter().map(state).collect();
    Outcome::failure("Host couldn't synchronize with any NTP server")
        .measured(if states.is_empty() { "no source known".to_owned() } else { states.join(", ") })
        .required("one source synced")
        .remedy("Add an NTP source that the host reaches to the cluster, or hand one out by DHCP.")
}

/// Whether the infra-env of an unbound host names time servers.
fn has_configured_sources(view: &View<'_>) -> bool {
    let infra_env = view.record().infra_env_id.and_then(|id| view.facts.infra_envs.get(&id));
    infra_env.is_some_and(|record| {
        !record.infra_env.ntp_sources.is_empty() || !record.infra_env.additional_ntp_sources.is_empty()
    })
}
